/* Drop-Tail: the hard limits, which every queue has, are all there is. */
#include "internal.h"

const struct weir_policy_ops weir_policy_drop_tail = {
	.info = { WEIR_POLICY_DROP_TAIL, "drop-tail", "drops what does not fit; as `drop-front`, from the head (front on)",
		  "tc-bfifo(8), tc-pfifo_head_drop(8)" },
};
