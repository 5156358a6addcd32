// The official MCP client of TypeScript gets access by itself, and oauth4webapi, which checks each answer strictly,
// completes the code flow with a pushed request, a refresh, a revocation, and the device flow.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import * as oauth from "oauth4webapi";

const { URL: base, OWNER, COOKIES } = process.env;
const run = promisify(execFile);
/** The owner opens a page and gives access. */
const agree = (url) => run("python3", [OWNER, "agree", COOKIES, String(url)]);

// The address to which the browser brings each answer.
let answered;
const callback = createServer((request, response) => {
  answered = new URL(request.url, `http://${request.headers.host}`);
  response.end();
});
await new Promise((listening) => callback.listen(0, "127.0.0.1", listening));
const redirect = `http://127.0.0.1:${callback.address().port}/callback`;

await connectOfficialClient();
await completeStrictFlows();
callback.close();

async function connectOfficialClient() {
  const kept = {};
  const provider = {
    redirectUrl: redirect,
    clientMetadata: {
      client_name: "MCP client of TypeScript",
      redirect_uris: [redirect],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void (kept.tokens = tokens),
    redirectToAuthorization: (url) => agree(url),
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier,
  };
  const connect = () => new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { authProvider: provider });
  const first = connect();
  const client = () => new Client({ name: "test", version: "1" });
  await assert.rejects(client().connect(first), UnauthorizedError);
  await first.finishAuth(answered.searchParams.get("code"));
  const connected = client();
  await connected.connect(connect());
  const { tools } = await connected.listTools();
  assert.ok(tools.length > 0 && kept.tokens.access_token.startsWith("svc_oat_"));
  await connected.close();
  console.log(`official MCP client of TypeScript: ${tools.length} tools with its own token`);
}

async function completeStrictFlows() {
  const options = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(base);
  const discovered = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...options });
  const server = await oauth.processDiscoveryResponse(issuer, discovered);
  const resource = new URL(`${base}/v1`);
  const described = await oauth.resourceDiscoveryRequest(resource, options);
  const about = await oauth.processResourceDiscoveryResponse(resource, described);
  assert.deepEqual(about.authorization_servers, [base]);

  const metadata = {
    client_name: "oauth4webapi",
    redirect_uris: [redirect],
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
  };
  const registered = await oauth.dynamicClientRegistrationRequest(server, metadata, options);
  const client = await oauth.processDynamicClientRegistrationResponse(registered);
  const none = oauth.None();

  // Code flow with a pushed request.
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const parameters = new URLSearchParams({
    client_id: client.client_id,
    response_type: "code",
    redirect_uri: redirect,
    scope: "rooms:read events:read",
    resource: String(resource),
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  });
  const pushed = await oauth.pushedAuthorizationRequest(server, client, none, parameters, options);
  const { request_uri } = await oauth.processPushedAuthorizationResponse(server, client, pushed);
  const page = new URL(server.authorization_endpoint);
  page.search = new URLSearchParams({ client_id: client.client_id, request_uri });
  await agree(page);
  const answer = oauth.validateAuthResponse(server, client, answered, state);
  const redeemed = await oauth.authorizationCodeGrantRequest(server, client, none, answer, redirect, verifier, {
    additionalParameters: { resource: String(resource) },
    ...options,
  });
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, redeemed);
  assert.deepEqual(tokens.scope.split(" ").sort(), ["events:read", "rooms:read"]);
  const rooms = (token) => oauth.protectedResourceRequest(token, "GET", new URL(`${base}/v1/rooms`), null, null, options);
  assert.equal((await rooms(tokens.access_token)).status, 200);

  const refreshed = await oauth.refreshTokenGrantRequest(server, client, none, tokens.refresh_token, options);
  const next = await oauth.processRefreshTokenResponse(server, client, refreshed);
  assert.notEqual(next.refresh_token, tokens.refresh_token);
  const revoked = await oauth.revocationRequest(server, client, none, next.refresh_token, options);
  await oauth.processRevocationResponse(revoked);
  await assert.rejects(rooms(next.access_token), oauth.WWWAuthenticateChallengeError);

  // Device flow.
  const device = new URLSearchParams({ scope: "rooms:read" });
  const asked = await oauth.deviceAuthorizationRequest(server, client, none, device, options);
  const waiting = await oauth.processDeviceAuthorizationResponse(server, client, asked);
  await agree(waiting.verification_uri_complete);
  const polled = await oauth.deviceCodeGrantRequest(server, client, none, waiting.device_code, options);
  const given = await oauth.processDeviceCodeResponse(server, client, polled);
  assert.equal((await rooms(given.access_token)).status, 200);
  console.log("oauth4webapi: code flow with a pushed request, refresh, revocation, device flow");
}
