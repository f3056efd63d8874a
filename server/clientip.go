package server

import (
	"net/http"
	"net/netip"
	"strings"
)

// clientIP returns the address that a request comes from: the first entry of
// X-Forwarded-For, or else of a header that is literally called
// HTTP_X_FORWARDED_FOR, if the peer is trusted, otherwise the peer's own. If the
// entry is no address, the result is the peer's address and not the next entry
// (evaluation.md §10). The address is not valid if the peer's cannot be understood
// either.
func (s *Server) clientIP(r *http.Request) netip.Addr {
	peer := parseIP(r.RemoteAddr)
	if s.trusts(peer) {
		forwarded := r.Header.Get("X-Forwarded-For")
		if forwarded == "" {
			forwarded = r.Header.Get("Http_x_forwarded_for") // net/http's spelling of it
		}
		if forwarded == "" {
			return peer
		}
		entry, _, _ := strings.Cut(forwarded, ",")
		if addr := parseIP(strings.TrimSpace(entry)); addr.IsValid() {
			return addr
		}
	}
	return peer
}

// trusts reports whether the server believes what a peer says about the client.
func (s *Server) trusts(peer netip.Addr) bool {
	if s.config.TrustedProxies == nil {
		return true
	}
	for _, p := range s.config.TrustedProxies {
		if p.Contains(peer) {
			return true
		}
	}
	return false
}

// parseIP reads an address with or without a port, an IPv6 address also in
// brackets. IPv4 in IPv6 becomes IPv4; zones are dropped.
func parseIP(s string) netip.Addr {
	if strings.Count(s, ":") == 1 { // IPv4 with a port, as net/http has it; errors cost memory
		withPort, _ := netip.ParseAddrPort(s)
		return withPort.Addr()
	}
	addr, err := netip.ParseAddr(s)
	if err != nil {
		if inner, ok := strings.CutPrefix(s, "["); ok && strings.HasSuffix(inner, "]") {
			addr, err = netip.ParseAddr(inner[:len(inner)-1])
			if err == nil && !addr.Is6() {
				return netip.Addr{}
			}
		} else {
			var withPort netip.AddrPort
			withPort, err = netip.ParseAddrPort(s)
			addr = withPort.Addr()
		}
	}
	if err != nil {
		return netip.Addr{}
	}
	return addr.Unmap().WithZone("")
}
