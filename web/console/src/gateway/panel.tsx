/** The gateway's books. */
export function GatewayPanel() {
  return (
    <section class="panel" aria-labelledby="gateway-title">
      <header class="panel-head">
        <h1 id="gateway-title" tabIndex={-1}>
          Gateway
        </h1>
      </header>
      <p class="muted">This server keeps no gateway's books.</p>
    </section>
  );
}
