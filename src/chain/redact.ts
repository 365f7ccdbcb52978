/** Node texts may quote what a stranger's contract answers, so no more than this is ever looked at. */
const READ_CHARS = 2_000;
const KEPT_CHARS = 200;

/**
 * Makes a node's text fit to be logged. Providers quote the request, their own address or the project
 * key of the URL in their errors, so everything that could be one of them is cut out. Takes time in
 * proportion to the first 2 000 characters, whatever the text; answers at most 200.
 */
export function redactor(url: string): (text: string) => string {
  const secrets = secretsOf(url);
  return (text) => {
    let clean = text.length > READ_CHARS ? cut(text.slice(0, READ_CHARS), secrets) : text;
    for (const secret of secrets) clean = clean.replaceAll(secret, '[redacted]');
    return clean
      .replaceAll(/[a-z][a-z0-9+.-]{0,15}:\/\/\S+/gi, '[url]')
      .replaceAll(/0x[0-9a-f]{65,}/gi, '[data]')
      .replaceAll(/\p{Cc}/gu, ' ')
      .slice(0, KEPT_CHARS);
  };
}

/** Takes off the end whatever could be the beginning of a secret or of data that goes on behind it. */
function cut(text: string, secrets: readonly string[]): string {
  const begun = secrets.map((secret) => {
    let length = Math.min(secret.length - 1, text.length);
    while (length > 0 && !text.endsWith(secret.slice(0, length))) length -= 1;
    return length;
  });
  const data = text.lastIndexOf('0x');
  if (data !== -1 && /^0x[0-9a-f]*$/i.test(text.slice(data))) begun.push(text.length - data);
  return text.slice(0, text.length - Math.max(0, ...begun));
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
