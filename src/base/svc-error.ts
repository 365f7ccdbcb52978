// SvcError: an error with code, message, hint and whether a retry may help.
export interface SvcErrorOptions {
  /** What the reader can do about it; one sentence. */
  hint?: string;
  /** Members that an answer carries beside `error` and `message`. */
  details?: Record<string, unknown>;
  /** Whether the same request, repeated unchanged, can succeed later. */
  retryable?: boolean;
  cause?: unknown;
}

/**
 * The one error family. `message` is a sentence for a person and holds no secret; an error that is
 * not a SvcError is a bug, and its text never leaves the process.
 */
export class SvcError<Code extends string = string> extends Error {
  /** One word, the same for ever. */
  readonly code: Code;
  /** What the reader can do about it; one sentence. */
  readonly hint: string | undefined;
  /** What else is known; empty where nothing is. */
  readonly details: Record<string, unknown>;
  /** Whether the same request, repeated unchanged, can succeed later. */
  readonly retryable: boolean;

  constructor(code: Code, message: string, options: SvcErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'SvcError';
    this.code = code;
    this.hint = options.hint;
    this.details = options.details ?? {};
    this.retryable = options.retryable ?? false;
  }
}
