// The named values that a command prints about one thing.

/** Name and value; null if there is none. */
export type Field = readonly [name: string, value: string | number | null];

/** The members of a record under their own names; null where there is no record. */
export function fieldsNamed<Name extends string>(
  record: Readonly<Record<Name, Field[1]>> | null,
  ...names: Name[]
): Field[] {
  return names.map((name) => [name, record?.[name] ?? null]);
}
