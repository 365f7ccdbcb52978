// biome-ignore lint/suspicious/noExplicitAny: to be written
export function deathStore(..._given: unknown[]): any {
  return {};
}
