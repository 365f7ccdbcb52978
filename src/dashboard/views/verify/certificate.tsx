// The address of a proof page: to copy, to print, and as a QR code on the printed certificate.
import { Button } from '@mantine/core';
import { useWindowEvent } from '@mantine/hooks';
import { create } from 'qrcode';
import { Copy } from '../../ui/values.tsx';

export default function Certificate({ address }: { address: string }) {
  useWindowEvent('beforeprint', () => {
    // Browsers that print closed details as closed.
    for (const fold of document.querySelectorAll('details')) fold.open = true;
  });
  return (
    <div className="certificate">
      <div className="certificate-actions">
        <span>
          <code className="certificate-address">{address}</code>
          <Copy value={address} what="link" label="Copy link" />
        </span>
        <Button size="xs" onClick={() => window.print()}>
          Print a certificate
        </Button>
      </div>
      <div className="print-only">
        <QrCode text={address} />
        <p>
          This page states what a browser found when it was printed. To check again, scan the code
          or open {address}
        </p>
      </div>
    </div>
  );
}

function QrCode({ text }: { text: string }) {
  const { size, data } = create(text, { errorCorrectionLevel: 'M' }).modules;
  const dark = Array.from(data, (module, i) =>
    module ? `M${i % size} ${Math.floor(i / size)}h1v1h-1z` : '',
  );
  return (
    <svg viewBox={`-2 -2 ${size + 4} ${size + 4}`} role="img" aria-label={`QR code of ${text}`}>
      <path d={dark.join('')} />
    </svg>
  );
}
