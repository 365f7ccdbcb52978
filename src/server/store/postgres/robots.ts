// biome-ignore lint/suspicious/noExplicitAny: to be written
export function robotStore(..._given: unknown[]): any {
  return {};
}
