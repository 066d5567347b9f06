package gatewayapi

import (
	"context"
	"net/http"

	"hapax/internal/engine/intake"
	"hapax/internal/settle"
)

// nothing answers for what doesn't exist and for what the token may not see: who asks can't tell them apart.
func nothing() error {
	return problem(codeNotFound, "there is no such thing, or none that this token may see")
}

// mayRead fails like a missing tenant where the session may not read it.
func mayRead(ctx context.Context, tenant string) error {
	if !settle.ValidTenant([]byte(tenant)) || !sessionOf(ctx).CanReadTenant(tenant) {
		return nothing()
	}
	return nil
}

// mayWrite fails like a missing tenant where the session sees nothing of it.
func mayWrite(ctx context.Context, tenant string) error {
	session := sessionOf(ctx)
	switch {
	case !settle.ValidTenant([]byte(tenant)):
		return nothing()
	case session.CanWriteTenant(tenant):
		return nil
	case session.CanReadTenant(tenant):
		return problem(codeForbidden, "this token may read the tenant and change nothing")
	}
	return nothing()
}

// mayWriteAt is what can be said of the right to a request before its body: it is mayWrite where the path names the tenant, and fails where
// the session writes to no tenant at all.
func mayWriteAt(ctx context.Context, r *http.Request) error {
	if tenant := r.PathValue("tenant"); tenant != "" {
		return mayWrite(ctx, tenant)
	}
	if !sessionOf(ctx).WritesTenants() {
		return problem(codeForbidden, "this token may change nothing")
	}
	return nil
}

// mayOperate fails where the session doesn't read every tenant.
func mayOperate(ctx context.Context) error {
	if !sessionOf(ctx).ReadsAllTenants() {
		return problem(codeForbidden, "this is for operators: tokens that read every tenant")
	}
	return nil
}

// sourcesOf returns a tenant's sources, or one of them; none is nothing.
func sourcesOf(v intake.View, tenant, source string) ([]intake.NamedSource, error) {
	all, err := v.Sources()
	if err != nil {
		return nil, err
	}
	var own []intake.NamedSource
	for _, s := range all {
		if s.Tenant == tenant && (source == "" || s.Name == source) {
			own = append(own, s)
		}
	}
	if len(own) == 0 {
		return nil, nothing()
	}
	return own, nil
}
