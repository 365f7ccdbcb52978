// Renders the certificate of a verified proof as HTML: the same document in the browser and from `svc verify --report`.
import type { StatedAnchor } from '../audit-anchor.ts';
import type { AuditCheck } from '../audit-check.ts';
import type { Bundle } from '../bundle.ts';
import type { Proof } from '../json-value.ts';
import { chainText, utcTime } from './verdict.ts';

/** What a certificate has. All texts are plain: the renderer escapes them. */
export interface Certificate {
  /** `stated`: only the service states the anchor, and no check read the chain. */
  readonly result: 'verified' | 'stated' | 'refuted';
  /** The sentences of the verdict. */
  readonly verdict: readonly string[];
  /** When it was checked, ISO 8601 in UTC. */
  readonly checkedAt: string;
  readonly stated: StatedAnchor;
  readonly blockHash: string | null;
  /** What the robot claimed, if the document has it. */
  readonly claim: Pick<Bundle['claim'], 'title' | 'description' | 'expected_result'> | null;
  readonly proof: Proof | null;
  /** Statements that no check covers, by name. */
  readonly unproven: Readonly<Record<string, string>>;
  /** Which accounts may have sent the anchor, and who says so. */
  readonly issuer: string;
  readonly accounts: readonly string[];
  readonly checks: readonly Pick<AuditCheck, 'ok' | 'detail'>[];
  readonly notProven: readonly string[];
  /** Repeats the checks. */
  readonly command: string;
  /** Address of the proof page; null if no service is known. */
  readonly address: string | null;
}

/** The modules of a QR code, in rows. */
export interface QrModules {
  readonly size: number;
  readonly data: ArrayLike<number | boolean>;
}

/** Equal for all certificates of one anchor. */
export function certificateNumber({ chain_id, block_number, proof_hash, task_id }: StatedAnchor) {
  return [chain_id, block_number ?? 0, proof_hash.slice(2, 10), task_id.slice(-8)].join('-');
}

/** A whole document, without references to other files. */
export function certificateDocument(certificate: Certificate, qr: QrModules | null): string {
  const title = `Certificate ${certificateNumber(certificate.stated)}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<style>${CERTIFICATE_STYLE}</style>
</head>
<body>
<main class="certificate-sheet">${certificateBody(certificate, qr)}</main>
</body>
</html>
`;
}

const headings = {
  verified: 'Certificate of an anchored proof',
  stated: 'Statement of the service, not checked on the chain',
  refuted: 'Not verified',
};

/** The content of the document's body. */
export function certificateBody(certificate: Certificate, qr: QrModules | null): string {
  const { result, verdict, stated, claim, proof, checks, notProven, address } = certificate;
  const named = claim?.title ?? certificate.unproven.title ?? 'A task';
  return `
<header data-result="${result}">
<h1>${headings[result]}</h1>
<p class="subject">${escaped(named)}</p>
${verdict.map((text) => `<p>${escaped(text)}</p>`).join('\n')}
</header>
${facts({
  Number: certificateNumber(stated),
  Checked: utcTime(certificate.checkedAt),
  'Anchored, block time': stated.anchored_at === undefined ? null : utcTime(stated.anchored_at),
  Block: stated.block_number
    ? `${stated.block_number} of chain ${chainText(stated.chain_id)}`
    : null,
  'Block hash': certificate.blockHash,
  'Proof hash': stated.proof_hash,
  'Claim hash': stated.claim_hash,
  Transaction: stated.tx_hash || null,
  Task: stated.task_id,
  Robot: stated.robot_id,
  Sender: stated.from ?? null,
  Issuer: certificate.issuer,
  'Accounts of the issuer': certificate.accounts.join(', ') || null,
})}
${claim === null ? '' : section('Claim', claimOf(claim))}
${proof === null ? '' : section('Evidence', json(proof))}
${section('Checks', list(checks.map(({ ok, detail }) => `${ok ? '✔' : '✘'} ${detail}`)))}
${section(
  'What this does not prove',
  list([
    ...notProven,
    ...Object.entries(certificate.unproven).map(
      ([name, value]) => `Stated, not proven: ${name.replaceAll('_', ' ')} “${value}”.`,
    ),
  ]),
)}
<section class="again">
${qr === null ? '' : qrCode(qr, address ?? '')}
<div>
<h2>Check it again</h2>
${address === null ? '' : `<p>Open <a href="${escaped(address)}">${escaped(address)}</a>, or run:</p>`}
<pre>${escaped(certificate.command)}</pre>
</div>
</section>`;
}

function claimOf({ title, description, expected_result }: NonNullable<Certificate['claim']>) {
  const expected =
    expected_result === null ? '' : `<h3>Expected result</h3>${json(expected_result)}`;
  return `${facts({ Title: title, Description: description })}${expected}`;
}

function facts(all: Readonly<Record<string, string | null>>): string {
  const rows = Object.entries(all).flatMap(([name, value]) =>
    value === null ? [] : [`<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`],
  );
  return `<dl>${rows.join('')}</dl>`;
}

const section = (title: string, content: string) =>
  `<section><h2>${title}</h2>${content}</section>`;
const list = (texts: readonly string[]) =>
  `<ul>${texts.map((text) => `<li>${escaped(text)}</li>`).join('')}</ul>`;
const json = (value: unknown) => `<pre>${escaped(JSON.stringify(value, null, 2))}</pre>`;

function qrCode({ size, data }: QrModules, text: string): string {
  const dark = Array.from(data, (module, i) =>
    module ? `M${i % size} ${Math.floor(i / size)}h1v1h-1z` : '',
  );
  return `<svg viewBox="-2 -2 ${size + 4} ${size + 4}" role="img" aria-label="QR code of ${escaped(text)}"><path d="${dark.join('')}"/></svg>`;
}

/** As text of an element or an attribute of HTML. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Black on white, in the browser and on paper. */
export const CERTIFICATE_STYLE = `
.certificate-sheet { max-width: 48rem; margin: 0 auto; padding: 2rem; color: #111; background: #fff; font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
.certificate-sheet header { border-left: 6px solid #a31621; padding-left: 1rem; margin-bottom: 1.5rem; }
.certificate-sheet header[data-result="verified"] { border-color: #116434; }
.certificate-sheet header[data-result="stated"] { border-color: #7a4a00; }
.certificate-sheet h1 { font-size: 1.5rem; margin: 0; }
.certificate-sheet .subject { font-size: 1.15rem; font-weight: 600; margin: 0.25rem 0; }
.certificate-sheet h2 { font-size: 1rem; margin: 1.5rem 0 0.5rem; }
.certificate-sheet h3 { font-size: 0.9rem; margin: 0.75rem 0 0.25rem; }
.certificate-sheet header p { margin: 0.25rem 0; }
.certificate-sheet dl { display: grid; grid-template-columns: minmax(7rem, max-content) minmax(0, 1fr); gap: 0.3rem 1.25rem; margin: 0; font-size: 0.875rem; }
.certificate-sheet dt { color: #555; }
.certificate-sheet dd { margin: 0; }
.certificate-sheet ul { margin: 0; padding: 0; list-style: none; font-size: 0.875rem; }
.certificate-sheet li { margin: 0.2rem 0; }
.certificate-sheet a { color: inherit; }
.certificate-sheet pre { margin: 0; padding: 0.6rem 0.75rem; font-size: 0.8rem; white-space: pre-wrap; background: #f2f4f6; }
.certificate-sheet .again { display: flex; gap: 1.5rem; margin-top: 1.5rem; border-top: 1px solid #ccc; }
.certificate-sheet .again > div { flex: 1; min-width: 0; }
.certificate-sheet .again svg { flex: none; width: 8rem; height: 8rem; margin-top: 1.5rem; }
@media (max-width: 30em) { .certificate-sheet { padding: 1rem; } .certificate-sheet dl, .certificate-sheet .again { display: block; } .certificate-sheet dd { margin-bottom: 0.4rem; } }
@media print { .certificate-sheet { padding: 0; } .certificate-sheet section { break-inside: avoid; } }
`;
