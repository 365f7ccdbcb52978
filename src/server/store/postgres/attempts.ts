// biome-ignore lint/suspicious/noExplicitAny: to be written
export function attemptStore(..._given: unknown[]): any {
  return {};
}
