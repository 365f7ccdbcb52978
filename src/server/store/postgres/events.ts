// biome-ignore lint/suspicious/noExplicitAny: to be written
export function eventStore(..._given: unknown[]): any {
  return {};
}
