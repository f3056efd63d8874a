package server_test

import (
	"net/netip"
	"testing"

	"github.com/flagstaff-go/flagstaff/server"
)

func TestClientIP(t *testing.T) {
	private := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	nobody := []netip.Prefix{}
	for _, tt := range []struct {
		name              string
		trusted           []netip.Prefix
		remote            string
		forwarded, legacy string
		want              string // "": none
	}{
		{"peer", nil, "192.0.2.1:1234", "", "", "192.0.2.1"},
		{"peer in IPv6", nil, "[2001:db8::1]:1234", "", "", "2001:db8::1"},
		{"peer in IPv6 with zone", nil, "[fe80::1%eth0]:1234", "", "", "fe80::1"},
		{"peer is IPv4 in IPv6", nil, "[::ffff:192.0.2.1]:1234", "", "", "192.0.2.1"},
		{"no address at all", nil, "@", "", "", ""},
		{"forwarded", nil, "192.0.2.1:1234", "198.51.100.7", "", "198.51.100.7"},
		{"first of several", nil, "192.0.2.1:1234", " 198.51.100.7 , 10.0.0.1", "", "198.51.100.7"},
		{"with port", nil, "192.0.2.1:1234", "198.51.100.7:8080, 10.0.0.1", "", "198.51.100.7"},
		{"IPv6", nil, "192.0.2.1:1234", "2001:db8::7", "", "2001:db8::7"},
		{"IPv6 in brackets", nil, "192.0.2.1:1234", "[2001:db8::7]", "", "2001:db8::7"},
		{"IPv6 in brackets with port", nil, "192.0.2.1:1234", "[2001:db8::7]:443", "", "2001:db8::7"},
		{"IPv4 in brackets", nil, "192.0.2.1:1234", "[198.51.100.7]", "", "192.0.2.1"},
		{"first is rubbish", nil, "192.0.2.1:1234", "garbage, 198.51.100.7", "", "192.0.2.1"},
		{"first is empty", nil, "192.0.2.1:1234", ", 198.51.100.7", "", "192.0.2.1"},
		{"port without number", nil, "192.0.2.1:1234", "198.51.100.7:x", "", "192.0.2.1"},
		{"legacy name", nil, "192.0.2.1:1234", "", "198.51.100.8", "198.51.100.8"},
		{"both", nil, "192.0.2.1:1234", "198.51.100.7", "198.51.100.8", "198.51.100.7"},
		{"rubbish hides the legacy name", nil, "192.0.2.1:1234", "garbage", "198.51.100.8", "192.0.2.1"},
		{"trusted proxy", private, "10.1.2.3:1234", "198.51.100.7", "", "198.51.100.7"},
		{"trusted proxy in IPv6", private, "[fd00::1]:1234", "198.51.100.7", "", "198.51.100.7"},
		{"trusted proxy as IPv4 in IPv6", private, "[::ffff:10.1.2.3]:1234", "198.51.100.7", "", "198.51.100.7"},
		{"other peer", private, "192.0.2.1:1234", "198.51.100.7", "198.51.100.8", "192.0.2.1"},
		{"nobody is trusted", nobody, "10.1.2.3:1234", "198.51.100.7", "", "10.1.2.3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked []netip.Addr
			s := newServer(t, func(c *server.Config) {
				c.TrustedProxies, c.Geo = tt.trusted, fakeGeo{asked: &asked}
			})
			call{
				remote: tt.remote, body: simple,
				header: map[string]string{"X-Forwarded-For": tt.forwarded, "HTTP_X_FORWARDED_FOR": tt.legacy},
			}.ok(t, s)
			if tt.want == "" && len(asked) == 0 {
				return
			}
			if len(asked) != 1 || asked[0].String() != tt.want {
				t.Errorf("asked for %v, want %s", asked, tt.want)
			}
		})
	}
}
