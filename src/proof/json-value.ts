// The type of a JSON value.
/** A JSON value as the parser makes it: plain objects and arrays, own properties only. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;

/** A JSON object; the names are its own. */
export interface JsonObject {
  [name: string]: JsonValue;
}

/** Evidence that can be anchored: a JSON object or array. A scalar is no proof. */
export type Proof = JsonObject | JsonValue[];

/** Whether a JSON value can be anchored as evidence. */
export function isProof(value: JsonValue | undefined): value is Proof {
  return typeof value === 'object' && value !== null;
}
