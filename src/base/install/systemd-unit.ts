// The text of a systemd unit file.

/** A service as systemd runs it. Paths are absolute. */
export interface SystemdService {
  /** Name of the unit without its suffix; also the name of its folders in /etc, /run and /var/lib, and of its user. */
  name: string;
  description: string;
  /** The program and its arguments. */
  command: readonly string[];
  user: string;
  /** Whether the program or Node.js is in a home folder, which must then be visible. */
  inHome: boolean;
  /** Name of the credential that contains the service's key, and of its file in /etc/NAME. */
  credential: string;
  /** Names of other credentials that a variable may name, and of their files there. A file may be missing. */
  otherCredentials: readonly string[];
  /** Further lines of the section `[Service]`. */
  directives: readonly string[];
}

export function configFolder({ name }: Pick<SystemdService, 'name'>): string {
  return `/etc/${name}`;
}

/**
 * The text of the unit file, systemd.service(5), for systemd 247 and newer. Three protections are left out on purpose.
 * Memory may become executable, because V8 compiles at run time. /proc/sys stays visible (no `ProcSubset`), because the
 * boot id is there. `NotifyAccess=all`, because the program systemd-notify is another process of the unit.
 */
export function unitText(service: SystemdService): string {
  const { name, description, command, user, inHome, directives } = service;
  const folder = configFolder(service);
  return `[Unit]
Description=${escaped(description)}
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=all
ExecStart=${command.map(quoted).join(' ')}
User=${user}
EnvironmentFile=-${folder}/environment
# The default lets the program start without a file and report that it is missing.
${[service.credential, ...service.otherCredentials].map((one) => `LoadCredential=${one}:${folder}/${one}\nSetCredential=${one}:unset`).join('\n')}
StateDirectory=${name}
StateDirectoryMode=0700
${directives.join('\n')}
Restart=always
RestartSec=5s
# A restart cannot fix a wrong configuration.
RestartPreventExitStatus=2
TimeoutStopSec=60s
UMask=0077

CapabilityBoundingSet=
AmbientCapabilities=
NoNewPrivileges=yes
DevicePolicy=closed
PrivateDevices=yes
PrivateTmp=yes
PrivateUsers=yes
ProtectSystem=strict
ProtectHome=${inHome ? 'read-only' : 'yes'}
ProtectProc=invisible
ProtectClock=yes
ProtectHostname=yes
ProtectControlGroups=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
LockPersonality=yes
KeyringMode=private
RemoveIPC=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
`;
}

/** Quotes one word of a command line; see systemd.service(5). */
function quoted(word: string): string {
  const text = escaped(word).replaceAll('$', '$$$$');
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

function escaped(text: string): string {
  return text.replaceAll('%', '%%');
}
