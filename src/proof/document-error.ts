// The error for a document that does not have the format it must have.
/** The document is malformed. The message names the member and what it must be. */
export class DocumentError extends Error {
  readonly document:
    | 'bundle'
    | 'receipt'
    | 'file manifest'
    | 'part'
    | 'key'
    | 'key text'
    | 'statement'
    | 'promise'
    | 'leaf'
    | 'archive';
  /** JSON Pointer (RFC 6901) to a member that the format does not have; null for any other reason. */
  readonly unknownMember: string | null;

  constructor(
    document: DocumentError['document'],
    message: string,
    unknownMember: string | null = null,
  ) {
    super(message);
    this.name = 'DocumentError';
    this.document = document;
    this.unknownMember = unknownMember;
  }
}
