// Be an OpenID provider, by oidc-provider: `node oidc.mjs REDIRECT_URI`. It tells its address and ends with its input.
// Whoever comes is signed in as the account that the last line of its input names, without being asked.
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import Provider from "oidc-provider";

const accounts = {
  anna: { preferred_username: "Anna", name: "Anna A.", email: "anna@example.org", email_verified: true, groups: ["crew", "captains"] },
  ben: { preferred_username: "ben", email: "ben@example.org", email_verified: false, groups: ["crew"] },
  eve: { preferred_username: "anna", groups: ["crew"] },
  sam: { preferred_username: "sam", groups: ["strangers"] },
};
let who = "anna";
const server = createServer((request, response) => handle(request, response));
let handle;
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id: "shipmate", client_secret: "kept + secret", redirect_uris: [process.argv[2]] }],
    claims: { openid: ["sub"], profile: ["name", "preferred_username", "groups"], email: ["email", "email_verified"] },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...accounts[id] }) }),
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    pkce: { required: () => true },
    cookies: { keys: ["a key of the test"] },
  });
  const callback = provider.callback();
  handle = async (request, response) => {
    if (!request.url.startsWith("/interaction/")) return callback(request, response);
    const { prompt, params } = await provider.interactionDetails(request, response);
    const grant = new provider.Grant({ accountId: who, clientId: params.client_id });
    grant.addOIDCScope("openid profile email");
    const result = prompt.name === "login" ? { login: { accountId: who } } : { consent: { grantId: await grant.save() } };
    return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
  };
  console.log(issuer);
});
createInterface({ input: process.stdin })
  .on("line", (line) => {
    who = line;
    console.log("ready");
  })
  .on("close", () => process.exit(0));
