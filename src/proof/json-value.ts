// The type of a JSON value.
/** A JSON value as the parser creates it: plain objects and arrays, own properties only. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;

/** A JSON object. Only own properties count. */
export interface JsonObject {
  [name: string]: JsonValue;
}

/** Evidence that can be anchored: a JSON object or array, not a scalar. */
export type Proof = JsonObject | JsonValue[];

/** Whether a JSON value can be anchored as evidence. */
export function isProof(value: JsonValue | undefined): value is Proof {
  return typeof value === 'object' && value !== null;
}
