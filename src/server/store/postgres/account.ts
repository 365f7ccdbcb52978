// biome-ignore lint/suspicious/noExplicitAny: to be written
export function accountStore(..._given: unknown[]): any {
  return {};
}
