package reference_test

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/reference"
)

// vectors is the content of testdata/vectors/bucketing.json. Its field "about"
// explains the members.
type vectors struct {
	VariantSets map[string][][2]any `json:"variant_sets"`
	Count       int                 `json:"count"`
	Vectors     []struct {
		FlagKey        string             `json:"flag_key"`
		Identifier     string             `json:"identifier"`
		RolloutHashRaw float64            `json:"rollout_hash_raw"`
		RolloutHash    float64            `json:"rollout_hash"`
		VariantHashRaw float64            `json:"variant_hash_raw"`
		VariantHash    float64            `json:"variant_hash"`
		HoldoutHash    float64            `json:"holdout_hash"`
		InRollout      map[string]bool    `json:"in_rollout"`
		InHoldout      map[string]bool    `json:"in_holdout"`
		Variant        map[string]*string `json:"variant"`
	} `json:"vectors"`
}

func TestVectors(t *testing.T) {
	data, err := os.ReadFile("../../testdata/vectors/bucketing.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Vectors) != 210 || v.Count != 210 {
		t.Fatalf("%d vectors, count %d, want 210", len(v.Vectors), v.Count)
	}
	for _, vector := range v.Vectors {
		key, subject := vector.FlagKey, vector.Identifier
		equal := func(call string, got, want float64) {
			if got != want {
				t.Errorf("%s of flag %q, subject %q = %v, want %v", call, key, subject, got, want)
			}
		}
		equal("raw rollout hash", reference.HashText(key+"."+subject), vector.RolloutHashRaw)
		equal("rollout hash", reference.BucketHash(key, subject, ""), vector.RolloutHash)
		equal("raw variant hash", reference.HashText(key+"."+subject+"variant"), vector.VariantHashRaw)
		equal("variant hash", reference.BucketHash(key, subject, "variant"), vector.VariantHash)
		equal("holdout hash", reference.HoldoutHash(subject), vector.HoldoutHash)
		for text, want := range vector.InRollout {
			if got := reference.InRollout(key, subject, percentage(t, text)); got != want {
				t.Errorf("InRollout(%q, %q, %s) = %v, want %v", key, subject, text, got, want)
			}
		}
		for text, want := range vector.InHoldout {
			if got := reference.HeldOut(subject, percentage(t, text)); got != want {
				t.Errorf("HeldOut(%q, %s) = %v, want %v", subject, text, got, want)
			}
		}
		for set, variant := range vector.Variant {
			var keys []string
			var shares []float64
			for _, pair := range v.VariantSets[set] {
				keys, shares = append(keys, pair[0].(string)), append(shares, pair[1].(float64))
			}
			want := ""
			if variant != nil {
				want = *variant
			}
			if got := reference.ChooseVariant(key, subject, keys, shares); got != want {
				t.Errorf("ChooseVariant(%q, %q, %s) = %q, want %q", key, subject, set, got, want)
			}
		}
	}
}

func percentage(t *testing.T, text string) float64 {
	t.Helper()
	p, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestHashTable checks the excerpt in §2.8. The variants there follow from the
// raw hash, also for the empty subject, for which a draw gives the first
// variant, too.
func TestHashTable(t *testing.T) {
	for _, tt := range []struct {
		flagKey, subject string
		rollout, variant float64
		five             string
	}{
		{"beta-feature", "user-1", 0.72649125492608857, 0.14578218334266493, "first"},
		{"beta-feature", "user-2", 0.69653849167451265, 0.60227432446438389, "second"},
		{"beta-feature", "user-3", 0.72681486714841137, 0.23124607917943046, "first"},
		{"beta-feature", "user-4", 0.41241734366736416, 0.07967153587137342, "first"},
		{"beta-feature", "user-5", 0.61960010164059887, 0.18616769742558495, "first"},
		{"beta-feature", "user-6", 0.47962248040867173, 0.65553237547353371, "second"},
		{"beta-feature", "user-7", 0.45547207035824921, 0.079980882545214224, "first"},
		{"beta-feature", "user-8", 0.14277236010194969, 0.29715207818964301, "first"},
		{"beta-feature", "user-9", 0.13525519032786493, 0.37148519098417065, "first"},
		{"beta-feature", "user-10", 0.47565667131798223, 0.47723943040118805, "first"},
		{"beta-feature", "user-11", 0.2558438788284666, 0.20612932426338787, "first"},
		{"beta-feature", "user-12", 0.58281314405130713, 0.12936998337870551, "first"},
		{"checkout", "user-1", 0.44834245408788559, 0.57401898723019851, "second"},
		{"checkout", "user-2", 0.90065451069609681, 0.35361569984728208, "first"},
		{"checkout", "user-3", 0.97881271514353974, 0.25221856791645036, "first"},
		{"checkout", "user-4", 0.70646309168621046, 0.35235992784043912, "first"},
		{"checkout", "user-5", 0.70504693240386507, 0.11120657235982367, "first"},
		{"checkout", "user-6", 0.77327838125949722, 0.31587814052062779, "first"},
		{"checkout", "user-7", 0.88705085881778845, 0.35339828138350443, "first"},
		{"checkout", "user-8", 0.75905136414047558, 0.98312646530883308, "fifth"},
		{"simple-flag", "distinct_id_0", 0.78369637642204315, 0.65952488697874845, "second"},
		{"simple-flag", "distinct_id_1", 0.33970699269954008, 0.50715924283634151, "second"},
		{"simple-flag", "distinct_id_2", 0.37204343502390519, 0.7657377960463857, "third"},
		{"simple-flag", "distinct_id_3", 0.90762180279281124, 0.2695324198676663, "first"},
		{"simple-flag", "distinct_id_4", 0.039584974753592489, 0.20165476865502699, "first"},
		{"multivariate-flag", "distinct_id_0", 0.50203779613073496, 0.61864545379303792, "second"},
		{"multivariate-flag", "distinct_id_1", 0.31803032317305979, 0.64731651573026971, "second"},
		{"multivariate-flag", "distinct_id_2", 0.35660411704312434, 0.063901062814124832, "first"},
		{"multivariate-flag", "distinct_id_3", 0.70101255551895802, 0.39543050849997363, "first"},
		{"multivariate-flag", "distinct_id_4", 0.93311919866988635, 0.54929133179137823, "second"},
		{"multivariate-flag", "distinct_id_5", 0.20761564736374816, 0.64571466616149686, "second"},
		{"multivariate-flag", "distinct_id_6", 0.183992279924485, 0.3686089814153527, "first"},
		{"multivariate-flag", "distinct_id_7", 0.75174900449193827, 0.19476082862836147, "first"},
		{"über-flagge", "José", 0.077007977987610152, 0.38894282797294527, "first"},
		{"新機能", "用户一", 0.34243272890962806, 0.11718070711869195, "first"},
		{"新機能", "😀", 0.37440885860986461, 0.32956170507664251, "first"},
		{"group-flag", "acme", 0.063192501921597546, 0.95415633082836981, "fifth"},
		{"group-flag", "12", 0.18585124686444632, 0.42043228463740245, "first"},
		{"device-flag", "device-0001", 0.56279852128143182, 0.3029243680882357, "first"},
		{"a.b", "c", 0.38357800263543324, 0.28964327592962791, "first"},
		{"a", "b.c", 0.38357800263543324, 0.28964327592962791, "first"},
		{"beta-feature", "", 0.47319597683880277, 0.54709654770332217, "first"},
		{"beta-feature", " ", 0.7287048915389871, 0.72764747053820922, "third"},
	} {
		if got := reference.HashText(tt.flagKey + "." + tt.subject); got != tt.rollout {
			t.Errorf("rollout hash of %q, %q = %v, want %v", tt.flagKey, tt.subject, got, tt.rollout)
		}
		if got := reference.HashText(tt.flagKey + "." + tt.subject + "variant"); got != tt.variant {
			t.Errorf("variant hash of %q, %q = %v, want %v", tt.flagKey, tt.subject, got, tt.variant)
		}
		keys, shares := []string{"first", "second", "third", "fourth", "fifth"}, []float64{50, 20, 20, 5, 5}
		if got := reference.ChooseVariant(tt.flagKey, tt.subject, keys, shares); got != tt.five {
			t.Errorf("ChooseVariant(%q, %q) = %q, want %q", tt.flagKey, tt.subject, got, tt.five)
		}
	}
}
