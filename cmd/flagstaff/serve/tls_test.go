package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// writePair writes a new certificate for 127.0.0.1 and its key into a folder, and returns
// their files.
func writePair(t *testing.T, folder string, serial int64, expires time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "flagstaff test"},
		NotBefore: time.Unix(0, 0), NotAfter: expires,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// TestTLS: the program answers over TLS, by HTTP/2, and what depends on HTTPS follows. A new
// pair of files is in force for new connections.
func TestTLS(t *testing.T) {
	folder := t.TempDir()
	expires := time.Now().Add(365 * 24 * time.Hour).Truncate(time.Second)
	cert, key := writePair(t, folder, 1, expires)
	url, _, stop := start(t, nil, "-demo", "-addr", "127.0.0.1:0", "-tls-cert", cert, "-tls-key", key)
	if !strings.HasPrefix(url, "https://") {
		t.Fatalf("it listens on %s", url)
	}
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // the certificate is looked at below
	defer transport.CloseIdleConnections()
	get := func(path string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+demoPersonal)
		w, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Body.Close()
		text, err := io.ReadAll(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		return w, string(text)
	}
	serial := func() int64 {
		transport.CloseIdleConnections()
		w, _ := get("/healthz")
		return w.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	if w, _ := get("/healthz"); w.ProtoMajor != 2 || w.StatusCode != http.StatusOK {
		t.Errorf("%s, status %d", w.Proto, w.StatusCode)
	}
	if w, _ := get("/console/signin"); w.Header.Get("Strict-Transport-Security") == "" {
		t.Error("the console has no Strict-Transport-Security")
	}
	_, text := get("/api/projects/1/feature_flags/?limit=1")
	var page struct{ Next string }
	if err := json.Unmarshal([]byte(text), &page); err != nil || !strings.HasPrefix(page.Next, url+"/") {
		t.Errorf("the next page is %q, %v", page.Next, err)
	}
	if _, text := get("/metrics"); !strings.Contains(text, fmt.Sprintf("flagstaff_tls_certificate_expiry_timestamp_seconds %v\n", float64(expires.Unix()))) {
		t.Error("/metrics does not have the expiry of the certificate")
	}
	old := &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11}
	if conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), old); err == nil {
		conn.Close()
		t.Error("it speaks TLS 1.1")
	}
	if got := serial(); got != 1 {
		t.Errorf("the certificate is %d, want 1", got)
	}
	writePair(t, folder, 2, expires)
	eventually(t, "the new certificate", func() bool { return serial() == 2 })
	if code := stop(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// TestCertificate: a pair that cannot be used leaves the old one, and is logged once; so is
// that a certificate expires, once a day.
func TestCertificate(t *testing.T) {
	folder := t.TempDir()
	expires := time.Now().Add(60 * 24 * time.Hour).Truncate(time.Second)
	cert, key := writePair(t, folder, 1, expires)
	out := newOutput()
	log := (&settings{logFormat: choice{value: "text"}}).logger(out)
	c, err := openCertificate(cert, key, log)
	if err != nil {
		t.Fatal(err)
	}
	clock := time.Now()
	c.now = func() time.Time { return clock }
	lines := func() (list []string) {
		for line := range strings.Lines(out.String()) {
			_, text, _ := strings.Cut(line, "msg=")
			text, _, _ = strings.Cut(text, " error=")
			text, _, _ = strings.Cut(text, " file=")
			list = append(list, strings.Trim(strings.TrimSpace(text), `"`))
		}
		return list
	}
	var want []string
	step := func(what string, more ...string) {
		t.Helper()
		c.check(t.Context())
		want = append(want, more...)
		if diff := gocmp.Diff(want, lines()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", what, diff)
		}
	}
	step("nothing has changed")
	if err := os.WriteFile(cert, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	step("a bad file, at the first look")
	step("at the second", "the certificate cannot be loaded; the last good one stays")
	step("at the third")
	if got := c.current.Load().Leaf.SerialNumber.Int64(); got != 1 {
		t.Errorf("certificate %d is served, want the first", got)
	}
	writePair(t, folder, 2, expires)
	step("a good pair", "certificate loaded")
	if got := c.current.Load().Leaf.SerialNumber.Int64(); got != 2 {
		t.Errorf("certificate %d is served, want the second", got)
	}
	clock = expires.Add(-expiresSoon + time.Hour)
	step("before it expires", "the certificate expires soon")
	step("and again")
	clock = clock.Add(24 * time.Hour)
	step("a day later", "the certificate expires soon")
	clock = expires
	step("when it has expired", "the certificate has expired; clients refuse it")
	other, _ := writePair(t, t.TempDir(), 3, expires)
	if _, err := openCertificate(other, key, log); err == nil || !strings.Contains(err.Error(), "private key does not match public key") {
		t.Errorf("a pair that does not fit: %v", err)
	}
}
