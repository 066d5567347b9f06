package serve

import (
	"testing"

	"hapax/internal/config"
)

func TestTheStoreKeepsItsDescriptors(t *testing.T) {
	c := config.Default()
	l := c.Limits
	gateway := c
	gateway.Gateway.Tenants = map[string]config.Tenant{"a": {Sources: map[string]config.Source{"s": {}}}}
	whole := descriptors{store: storeDescriptors, sockets: l.Connections, requests: l.Connections + l.Requests}
	for _, limit := range []int{0, -1, 1 << 20} {
		if d := shareDescriptors(limit, &c); d != whole {
			t.Errorf("limit %d: %+v", limit, d)
		}
	}
	for limit := 1; limit < 50_000; limit += 7 {
		d := shareDescriptors(limit, &c)
		if d.store < 1 || d.sockets < 1 || d.requests < 1 || d.store > whole.store || d.sockets > whole.sockets || d.requests > whole.requests {
			t.Fatalf("limit %d: %+v", limit, d)
		}
		if sum := d.store + d.sockets + d.requests + ownDescriptors; limit > 2*ownDescriptors && sum > limit {
			t.Fatalf("limit %d: %+v are %d", limit, d, sum)
		}
	}
	if d := shareDescriptors(1024, &c); d.store != 256 || d.sockets < 500 || d.requests < 100 {
		t.Errorf("the usual soft limit: %+v", d)
	}
	if d := shareDescriptors(4096, &gateway); d.store+d.sockets+d.requests+ownDescriptors+outboundDescriptors > 4096 || d.sockets < 1000 {
		t.Errorf("with a gateway: %+v", d)
	}
	small := config.Config{Limits: config.Limits{Connections: 10, Requests: 5}}
	if d := shareDescriptors(4096, &small); d.sockets != 10 || d.requests != 15 || d.store != storeDescriptors {
		t.Errorf("small limits: %+v", d)
	}
}
