// The address of a proof page, and the certificate: to read, to print and to save.
import { Button } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import type { Certificate } from '../../../proof/subject/certificate.ts';
import { Loading } from '../../ui/states.tsx';
import { Copy } from '../../ui/values.tsx';

const CertificateSheet = lazy(() => import('./certificate-sheet.tsx'));

export function CertificateCard({ certificate }: { certificate: Certificate }) {
  const [isOpen, setIsOpen] = useState(false);
  const { address } = certificate;
  return (
    <>
      <div className="certificate-actions">
        <span>
          <code className="certificate-address">{address}</code>
          <Copy value={address ?? ''} what="link" label="Copy link" />
        </span>
        <Button size="xs" disabled={isOpen} onClick={() => setIsOpen(true)}>
          Show the certificate
        </Button>
      </div>
      {isOpen && (
        <Suspense fallback={<Loading what="certificate" />}>
          <CertificateSheet certificate={certificate} />
        </Suspense>
      )}
    </>
  );
}
