// biome-ignore lint/suspicious/noExplicitAny: to be written
export function statsStore(..._given: unknown[]): any {
  return {};
}
