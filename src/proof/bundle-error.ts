// The error for a document that is no bundle.
/** A document that is not a bundle; the message names the member and says what it must be. */
export class BundleError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BundleError';
  }
}
