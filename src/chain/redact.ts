/**
 * Makes a node's text fit to be logged. Providers quote the request, their own address or the project
 * key of the URL in their errors, so everything that could be one of them is cut out.
 */
export function redactor(url: string): (text: string) => string {
  const secrets = secretsOf(url);
  return (text) => {
    let clean = text;
    for (const secret of secrets) clean = clean.replaceAll(secret, '[redacted]');
    return clean
      .replaceAll(/[a-z][a-z0-9+.-]*:\/\/\S+/gi, '[url]')
      .replaceAll(/0x[0-9a-f]{65,}/gi, '[data]')
      .replaceAll(/\p{Cc}/gu, ' ')
      .slice(0, 200);
  };
}

function secretsOf(url: string): string[] {
  const { host, hostname, username, password, pathname, searchParams } = new URL(url);
  const parts = [
    ...pathname.split('/').filter((part) => part.length >= 6),
    ...searchParams.values(),
  ];
  const raw = [url, host, hostname, username, password, ...parts];
  return raw
    .flatMap((text) => [text, decoded(text)])
    .filter((text) => text.length > 2)
    .sort((a, b) => b.length - a.length);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
