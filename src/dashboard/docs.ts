// Shows the OpenAPI document of the service, at /docs.
import 'swagger-ui-dist/swagger-ui.css';
import './docs.css';
// @ts-expect-error: it has no types
import SwaggerUI from 'swagger-ui-dist/swagger-ui-es-bundle.js';

const { mantineColorScheme } = document.documentElement.dataset; // Set by color-scheme.js.
document.documentElement.classList.toggle('dark-mode', mantineColorScheme === 'dark');
// Without `validatorUrl: null` the viewer would contact a validator on the web.
SwaggerUI({ url: '/openapi.json', dom_id: '#viewer', deepLinking: true, validatorUrl: null });
