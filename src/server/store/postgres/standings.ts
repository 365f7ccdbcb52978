// biome-ignore lint/suspicious/noExplicitAny: to be written
export function standingStore(..._given: unknown[]): any {
  return {};
}
