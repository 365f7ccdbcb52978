/** What the unit of an installation sets for its program, but for what systemd itself knows. */
export function environmentOf({ directives }) {
  return Object.fromEntries(
    directives
      .map((line) => /^Environment="?(\w+)=([^"%]*)"?$/.exec(line))
      .filter((match) => match !== null)
      .map(([, name, value]) => [name, value]),
  );
}
