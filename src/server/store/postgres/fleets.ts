// biome-ignore lint/suspicious/noExplicitAny: to be written
export function fleetStore(..._given: unknown[]): any {
  return {};
}
