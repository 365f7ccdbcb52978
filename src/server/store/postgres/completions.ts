// biome-ignore lint/suspicious/noExplicitAny: to be written
export function completionStore(..._given: unknown[]): any {
  return {};
}
