// biome-ignore lint/suspicious/noExplicitAny: to be written
export function chainStatusStore(..._given: unknown[]): any {
  return {};
}
