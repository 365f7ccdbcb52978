// The certificate as it is printed and saved.
import { Button, Group, useMantineStyleNonce } from '@mantine/core';
import { create } from 'qrcode';
import {
  CERTIFICATE_STYLE,
  type Certificate,
  certificateBody,
  certificateDocument,
  certificateNumber,
} from '../../../proof/subject/certificate.ts';
import { Card } from '../../ui/card.tsx';
import { saveFile } from '../../ui/values.tsx';

export default function CertificateSheet({ certificate }: { certificate: Certificate }) {
  const nonce = useMantineStyleNonce()?.();
  const { modules } = create(certificate.address ?? '', { errorCorrectionLevel: 'M' });
  const save = () => {
    const html = certificateDocument(certificate, modules);
    const name = `certificate-${certificateNumber(certificate.stated)}.html`;
    saveFile(name, new Blob([html], { type: 'text/html' }));
  };
  return (
    <Card
      title="Certificate"
      actions={
        <Group gap="xs">
          <Button size="xs" onClick={() => window.print()}>
            Print
          </Button>
          <Button size="xs" onClick={save}>
            Save as a file
          </Button>
        </Group>
      }
    >
      <style nonce={nonce}>{CERTIFICATE_STYLE}</style>
      <div
        className="certificate-sheet"
        // biome-ignore lint/security/noDangerouslySetInnerHtml: the renderer escapes every text
        dangerouslySetInnerHTML={{ __html: certificateBody(certificate, modules) }}
      />
    </Card>
  );
}
