// The environment of commands that work on the database of an installed server.
import { readInstalledUnit, readUnitEnvironment } from '../../base/install/installed-unit.ts';
import { serverInstallation } from './start.ts';

/**
 * The caller's environment. Where svc-server is installed, the one of its unit, overridden by the caller's, unless the
 * caller names a database or may not read the unit's environment.
 */
export async function operatorEnvironment(
  own: NodeJS.ProcessEnv,
  root = '/',
): Promise<NodeJS.ProcessEnv> {
  if (own.SVC_DATA_DIR || own.SVC_DATABASE_URL) return own;
  try {
    const unit = await readInstalledUnit(serverInstallation, root);
    if (unit === null) return own;
    const installed = { SVC_DATA_DIR: '/var/lib/svc-server', SVC_ANCHOR_KEY_FILE: unit.keyFile };
    return { ...installed, ...(await readUnitEnvironment(unit)), ...own };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return own;
    throw error;
  }
}
