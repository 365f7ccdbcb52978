// Prints environment variables with their values, defaults and documentation.

/** A schema of environment variables, with the description of each. */
export interface DocumentedSchema {
  readonly properties: Readonly<Record<string, unknown>>;
}

/** Prints every variable with its effective value, as lines or as one JSON object. */
export function printEnvironment(
  { properties }: DocumentedSchema,
  effective: Readonly<Record<string, unknown>>,
  { json }: { json?: boolean },
): void {
  const shown = Object.keys(properties).map((name): [string, unknown] => [
    name,
    effective[name] ?? null,
  ]);
  process.stdout.write(
    json
      ? `${JSON.stringify(Object.fromEntries(shown))}\n`
      : shown.map(([name, value]) => `${name}=${value ?? ''}\n`).join(''),
  );
}

/** Prints every variable with its default and meaning. */
export function describeEnvironment(schema: DocumentedSchema): void {
  for (const { name, fallback, description } of documentation(schema)) {
    const standard = fallback === '' ? '' : ` (default: ${fallback})`;
    process.stdout.write(`${name}\n    ${description}${standard}\n`);
  }
}

/** Name, default (empty if there is none) and description of each variable. */
export function documentation({ properties }: DocumentedSchema) {
  return Object.entries(properties).map(([name, schema]) => {
    const { description = '', default: fallback = '' } = schema as {
      description?: string;
      default?: unknown;
    };
    return { name, fallback: String(fallback), description };
  });
}
