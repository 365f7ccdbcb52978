// The error for a document that is not a bundle.
/** The document is not a bundle. The message names the member and what it must be. */
export class BundleError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BundleError';
  }
}
