/** For values made at random: a member named `__proto__` is refused everywhere, and one in some thousand values has it. */
export function hasNoProto(value: unknown): boolean {
  return !JSON.stringify(value).includes('"__proto__"');
}
