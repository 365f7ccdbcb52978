/** Variables of `svc`. */
export const environment: Readonly<Record<string, string>> = {
  SVC_URL: 'origin of the service, where --url is not given',
  SVC_PROFILE: 'profile to use, where --profile is not given',
  SVC_CONFIG_DIR: 'folder of the profiles and their sessions',
  NO_COLOR: 'no colours, if it is not empty',
  FORCE_COLOR: 'colours without a terminal too; 0 is none',
};
