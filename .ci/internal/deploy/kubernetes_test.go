package deploy

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// TestKubernetes holds the manifests to the types of Kubernetes, which know all members and
// their values' types, and to each other.
func TestKubernetes(t *testing.T) {
	var service core.Service
	var budget policy.PodDisruptionBudget
	var nodes apps.Deployment
	for i, text := range bytes.Split(read(t, "kubernetes.yaml"), []byte("\n---\n")) {
		into := []any{&service, &budget, &nodes}[i]
		if err := yaml.UnmarshalStrict(text, into); err != nil {
			t.Fatalf("document %d: %v", i+1, err)
		}
	}
	pod := nodes.Spec.Template
	for what, labels := range map[string]map[string]string{
		"the Service":             service.Spec.Selector,
		"the PodDisruptionBudget": budget.Spec.Selector.MatchLabels,
		"the Deployment":          nodes.Spec.Selector.MatchLabels,
	} {
		if diff := cmp.Diff(pod.Labels, labels); diff != "" {
			t.Errorf("%s selects other pods (-pods +selected)\n%s", what, diff)
		}
	}
	for _, s := range pod.Spec.TopologySpreadConstraints {
		if diff := cmp.Diff(pod.Labels, s.LabelSelector.MatchLabels); diff != "" {
			t.Errorf("%s spreads other pods (-pods +selected)\n%s", s.TopologyKey, diff)
		}
	}
	if len(pod.Spec.TopologySpreadConstraints) == 0 {
		t.Error("the pods are not spread over nodes")
	}
	if *nodes.Spec.Replicas <= budget.Spec.MaxUnavailable.IntVal {
		t.Errorf("%d replicas, of which %v may be unavailable", *nodes.Spec.Replicas, budget.Spec.MaxUnavailable)
	}

	c := pod.Spec.Containers[0]
	for name, want := range map[string]struct {
		probe *core.Probe
		path  string
	}{
		"startup": {c.StartupProbe, "/healthz"}, "readiness": {c.ReadinessProbe, "/readyz"}, "liveness": {c.LivenessProbe, "/healthz"},
	} {
		if p := want.probe; p == nil || p.HTTPGet.Path != want.path || p.HTTPGet.Port.StrVal != c.Ports[0].Name {
			t.Errorf("the %s probe is %+v, want %s at the port %s", name, p, want.path, c.Ports[0].Name)
		}
	}
	if got := service.Spec.Ports[0].TargetPort.StrVal; got != c.Ports[0].Name {
		t.Errorf("the Service is for the port %q, want %q", got, c.Ports[0].Name)
	}
	volumes := make(map[string]bool)
	for _, v := range pod.Spec.Volumes {
		volumes[v.Name] = true
	}
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("there is no volume %s", m.Name)
		}
	}
}
