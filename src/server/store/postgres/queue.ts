// biome-ignore lint/suspicious/noExplicitAny: to be written
export function queueStore(..._given: unknown[]): any {
  return {};
}
