import type { Schema } from './schema-values.ts';

/** One operation of the OpenAPI document, with what its answers may be. */
export interface Operation {
  id: string;
  method: string;
  /** With `{name}` for each parameter. */
  path: string;
  /** Kinds of credential of which one is needed; none where anybody may call. */
  security: string[];
  params: Parameter[];
  body: Schema | null;
  /** Error codes by status; those of a good answer are empty. */
  answers: ReadonlyMap<number, readonly string[]>;
}

export interface Parameter {
  name: string;
  in: string;
  required: boolean;
  schema: Schema;
}

interface Answer {
  content: { 'application/json': { schema: { properties?: { error?: { enum?: string[] } } } } };
}

interface Document {
  paths: Record<
    string,
    Record<
      string,
      {
        operationId: string;
        security: Record<string, unknown>[];
        parameters?: Parameter[];
        requestBody?: { content: { 'application/json': { schema: Schema } } };
        responses: Record<string, Answer>;
      }
    >
  >;
  components: { schemas: Record<string, unknown> };
}

export function operationsOf(document: Document): Operation[] {
  const resolved = withoutRefs(document, document.components.schemas) as Document; // Only references change.
  return Object.entries(resolved.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      id: operation.operationId,
      method: method.toUpperCase(),
      path,
      security: operation.security.flatMap((one) => Object.keys(one)),
      params: operation.parameters ?? [],
      body: operation.requestBody?.content['application/json'].schema ?? null,
      answers: new Map(
        Object.entries(operation.responses).map(([status, { content }]) => [
          Number(status),
          Number(status) < 300
            ? []
            : (content['application/json'].schema.properties?.error?.enum ?? []),
        ]),
      ),
    })),
  );
}

function withoutRefs(value: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutRefs(item, schemas));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref, ...rest } = value as { $ref?: unknown };
  const own = Object.fromEntries(
    Object.entries(rest).map(([key, member]) => [key, withoutRefs(member, schemas)]),
  );
  if (typeof $ref !== 'string') return own;
  const named = withoutRefs(schemas[$ref.replace('#/components/schemas/', '')], schemas);
  return { ...(named as object), ...own };
}
