// The error for a document that is not a bundle.
/** The document is not a bundle. The message names the member and what it must be. */
export class BundleError extends Error {
  /** JSON Pointer (RFC 6901) to a member that the format does not have; null for any other reason. */
  readonly unknownMember: string | null;

  constructor(message: string, unknownMember: string | null = null) {
    super(message);
    this.name = 'BundleError';
    this.unknownMember = unknownMember;
  }
}
