package stripio

// Costs are the two costs of a strip in the model, in seconds.
type Costs struct {
	Strip float64 `json:"strip_seconds"` // P: to process a strip that is in the CPU's own cache
	Move  float64 `json:"move_seconds"`  // M: to bring it from another CPU's cache
}

// Shape is how much there is to do, and for whom.
type Shape struct {
	Servers  int     `json:"servers"`      // N_S: strips of a request, one from each
	Cores    int     `json:"cores"`        // N_C
	Requests int     `json:"requests"`     // N_R
	Programs int     `json:"programs"`     // N_P
	Rest     float64 `json:"rest_seconds"` // T_R: what interrupts have no part in
}

// Prediction is what the model says, in seconds.
type Prediction struct {
	Balanced   float64 `json:"balanced_seconds"`    // at least, with interrupts spread over the cores
	AwareLeast float64 `json:"aware_least_seconds"` // at least and at most, with interrupts on the core that asked
	AwareMost  float64 `json:"aware_most_seconds"`
	Saving     float64 `json:"saving_seconds"` // at least; negative: source-aware delivery costs so much
	Wins       Wins    `json:"source_aware_wins"`
}

// Wins says whether source-aware delivery is faster.
type Wins string

// The answers.
const (
	Surely  Wins = "surely"  // even its longest time is shorter
	Perhaps Wins = "perhaps" // moving costs more than processing, but the times overlap
	No      Wins = "no"      // moving costs no more than processing
)

// Predict is the study's model. With α = N_S/N_C, of T = T_R + T_P + T_M − T_O:
//
//	balanced      T ≥ T_R + M·α·(N_C−1)·N_R
//	source-aware  T_R + P·N_S·N_R/min(N_P, N_C) ≤ T ≤ T_R + P·N_S·N_R
//	difference    ≥ (N_C−1)·N_R·α·(M−P)
func Predict(c Costs, s Shape) Prediction {
	cores, requests, servers := float64(s.Cores), float64(s.Requests), float64(s.Servers)
	alpha := servers / cores
	all := c.Strip * servers * requests
	p := Prediction{
		Balanced:   s.Rest + c.Move*alpha*(cores-1)*requests,
		AwareLeast: s.Rest + all/float64(min(s.Programs, s.Cores)),
		AwareMost:  s.Rest + all,
		Saving:     (cores - 1) * requests * alpha * (c.Move - c.Strip),
		Wins:       No,
	}
	switch {
	case p.Balanced > p.AwareMost:
		p.Wins = Surely
	case p.Saving > 0:
		p.Wins = Perhaps
	}
	return p
}

// MostRequests is how many requests a second, of a strip from each server, a
// client's bandwidth in bytes a second lets through: N_R·N_S·size ≤ bandwidth.
func MostRequests(bandwidth float64, servers, stripBytes int) float64 {
	return bandwidth / float64(servers*stripBytes)
}
