"""What the inside of the model looks like: attention, value norms, rollout, relevance, lens, sinks and interventions.

FOLDER/ is a model folder with picture_I.png; FOLDER/TALK.safetensors has one conversation about the first N of them; its
metadata ("talk") has the turns as JSON. float32, ids and indices int64. T positions, A words of the answer, R explained
positions, P patches, V words; L, heads of the language model, Lv, Hv of the tower. The row of the word at position p is p - 1.
Rows are zero behind their own position.

    input_ids [1,T]   picture_begin, picture_count [N]   answer_begin [1]   pixel_values [N,3,S,S]   inputs_embeds [1,T,H]
    positions [R]: what the rows below explain: a patch amid the last picture, a word of the question, every word of the answer
    language.attentions [L,heads,T,T]   language.hidden [L,T,H]: the residual stream after each layer
    rows.masses [N,R,L,heads,5]: this picture, other pictures, first position, rest of the prompt, answer
    rows.entropy [R,L,heads], of the mean over heads: .heads [R,L], and over layers too: .all [R]; in nats
    rows.value_norm [R,L,heads,T], of the summed vectors: .joined [R,L,T];   value_norms [L,heads,T]: || W_O(h) v_j(h) ||
    vision.attentions, vision.value_norm [N,Lv,Hv,P,P]   vision.value_norm.joined [N,Lv,P,P]   vision.entropy [N,Lv,Hv,P]
    vision.rollout [N,P,P]   vision.norms [N,P]: of the last layer's output, before post_layernorm
    relevance.positions [2]   relevance [2,T]: row p - 1; what is differentiated is the LOGIT of the word, not its
        log-probability, so that what speaks against other words stays out
    lens.layers [2]   lens.words, .probabilities, .margins [2,N,P,5]: likeliest first; the margin is the distance of the logit
        to the nearest other one: where it is next to nothing, the order is rounding's (of .rank_margins none is)
    lens.map [A,L,N,P]: probability of each word of the answer at the patches
    lens.rank, .rank_margins, .log_prob, .winner, .winner_margins [A,L]: of each word of the answer where it was predicted
    sinks.layer [1]   sinks.channels [2], the most extreme first   sinks.values [T]: the larger |x_d| / rms(x) of these channels
    answer.log_prob [A]   answer.log_probs [A,V]
    causal.K.picture [1]   causal.K.patches [M]   causal.K.cut, .mean [A,V]: log-probabilities when, in all layers, these keys
        are hidden from every query but that at the same position, or when their embeddings are the mean of the picture's own
    relative.input_ids [1,Tn]   relative.picture_begin [N]   relative.row [L,heads,Tn]: the neutral prompt and its last row
    relative.heads [A,L,heads,N,P]   relative.mean [A,L,N,P], of the mean over heads: the word's row over the neutral one
"""

import dataclasses
import json
import shutil

import torch
from safetensors.torch import save_file

import common
import insight_maps as maps
import insight_model
import model_reference
from insight_model import Talk
from model_folders import Case
from model_reference import Loaded, Unsuitable

INPUTS = (*model_reference.INPUTS, model_reference.__file__, maps.__file__, insight_model.__file__)

LANGUAGE = {
    "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 24, "max_position_embeddings": 2048, "tie_word_embeddings": True, "rope_theta": 1e6,
}  # fmt: skip
VISION = {
    "hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4, "image_size": 80,
    "patch_size": 16,
}  # fmt: skip
ONE = Talk(
    "one",
    [("system", "Answer in one line.", 0), ("user", "What colour is the ball?", 1)],
    [("system", "Answer in one line.", 0), ("user", "Describe this.", 1)],
)
TWO = Talk(
    "two",
    [("user", "What is this?", 1), ("assistant", "A red door.", 0), ("user", "And what is new here?", 1)],
    [("user", "Describe both.", 2)],
    pictures=2,
)
CASES = [
    (Case("tiny", LANGUAGE, VISION, attention_sharpness=2.0), [ONE, TWO], False),
    (
        Case(
            "tiny_untied",
            LANGUAGE | {"num_hidden_layers": 3, "num_attention_heads": 8, "head_dim": 16, "tie_word_embeddings": False,
                        "attention_bias": True},
            VISION | {"hidden_size": 32, "num_attention_heads": 2, "image_size": 48, "patch_size": 8},
            seed=1,
        ),
        [ONE, TWO],
        False,
    ),
    (
        Case(
            "real_heads",
            LANGUAGE | {"hidden_size": 1024, "intermediate_size": 1024, "num_hidden_layers": 3, "num_attention_heads": 16,
                        "num_key_value_heads": 8, "head_dim": 128, "tie_word_embeddings": False},
            VISION | {"hidden_size": 768, "intermediate_size": 768, "num_attention_heads": 12, "image_size": 224},
            pictures=1,
            language_dtype=torch.bfloat16,
            vision_dtype=torch.bfloat16,
            seed=2,
        ),
        [ONE],
        True,
    ),
]  # fmt: skip


def require(holds, what):
    """Of drawn weights: where it does not hold, others are drawn."""
    if not holds:
        raise Unsuitable(what)


def differ(left, right, share):
    """Whether the largest difference is at least this share of the largest value."""
    return (left - right).abs().max() >= share * right.abs().max()


def agree(found, expected, what, tolerance=2e-5):
    error = (found - expected).abs().max().item() / expected.abs().max().item()
    assert error < tolerance, f"{what}: {error:.2g}"


def contrast(attentions, keys):
    """Entropy as a share of that of even attention, mean over rows with at least 10 keys."""
    keys = keys.double()
    many = keys >= 10
    return (maps.entropy(attentions)[..., many] / keys[many].log()).mean().item()


# -------------------------------------------------------------------------------------------------------- the towers


class Conversation:
    """One talk about a loaded model's pictures: the passes once, then each method's tensors."""

    def __init__(self, folder, talk, pixel_values):
        self.talk = talk
        self.model = Loaded(folder, torch.float32)
        self.config = self.model.language.config
        self.weights = maps.read_weights(folder)
        self.pixel_values = pixel_values[: talk.pictures]
        self.patches = self.model.vision.embeddings.num_patches
        self.tower = insight_model.see_vision(self.model, self.pixel_values)
        self.projected = self.model.projector(self.tower.output)

        prompt, self.begins = insight_model.prompt_ids(self.model, talk.turns)
        assert len(self.begins) == talk.pictures
        self.answer, steps = insight_model.speak(self.model, self.model.embed(prompt, self.projected), talk.ranks)
        self.ids = torch.cat([prompt, torch.tensor([self.answer])], 1)
        self.answer_begin = prompt.shape[1]
        self.spoken = range(self.answer_begin, self.ids.shape[1])
        self.rows = torch.arange(self.answer_begin - 1, self.ids.shape[1] - 1)  # that predict the answer
        self.embeds = self.model.embed(self.ids, self.projected)
        self.seen = insight_model.see_language(self.model, self.embeds)
        for position, row in zip(self.spoken, steps):
            agree(row, self.seen.attentions[:, :, position, : position + 1], "attention of a cached step")
        begin = self.begins[-1].item()
        self.positions = torch.tensor([begin + self.patches // 2, begin + self.patches + 4, *self.spoken])
        self.carried = [maps.carried_by_language(self.weights, self.config, *layer) for layer in enumerate(self.seen.inputs)]

    def over_pictures(self, rows):
        """[..., T] -> [..., N, P]"""
        return torch.stack([rows[..., begin : begin + self.patches] for begin in self.begins], -2)

    def tensors(self):
        found = {
            "input_ids": self.ids, "picture_begin": self.begins, "picture_count": torch.full_like(self.begins, self.patches),
            "answer_begin": torch.tensor([self.answer_begin]), "pixel_values": self.pixel_values,
            "inputs_embeds": self.embeds, "positions": self.positions, "language.attentions": self.seen.attentions,
            "language.hidden": torch.stack(self.seen.layers),
        }  # fmt: skip
        found |= self.rows_of_attention() | self.vision() | self.relevance() | self.lens() | self.sinks()
        return found | self.causal(found["relevance"]) | self.relative()

    def rows_of_attention(self):
        attentions, carried, config = self.seen.attentions, self.carried, self.config
        length = self.ids.shape[1]
        evenness = contrast(attentions, torch.arange(1, length + 1))
        require(evenness < 0.8, f"attention is nearly even: {evenness:.2f}")
        require(differ(attentions[0], attentions[1], 0.1), "layers look alike")
        require(differ(attentions[:, 0], attentions[:, 1], 0.1), "heads look alike")
        require(differ(attentions[:, :, self.rows], attentions[:, :, self.rows + 1], 0.1), "a row looks like the next")

        for layer, mixed in enumerate(self.seen.mixed):
            bias = self.weights.get(f"language.model.layers.{layer}.self_attn.o_proj.bias", 0)
            agree(maps.summed(attentions[layer], carried[layer]) + bias, mixed.double(), "what attention moves")
        group = config.num_attention_heads // config.num_key_value_heads
        swapped = lambda head: (head // group + 1) % config.num_key_value_heads  # noqa: E731
        modulo = lambda head: head % config.num_key_value_heads  # noqa: E731
        norms = torch.stack([vectors.norm(dim=-1) for vectors in carried])
        for wrong in (swapped, modulo):
            vectors = maps.carried_by_language(self.weights, config, 0, self.seen.inputs[0], wrong)
            require(differ(vectors.norm(dim=-1), norms[0], 1e-2), "KV heads carry the same")

        rows = attentions[:, :, self.positions - 1].movedim(2, 0)  # [R, L, heads, T]
        value_norm = rows * norms
        joined = torch.stack([maps.joined_norm(rows[:, layer].transpose(0, 1), carried[layer]) for layer in range(len(carried))], 1)
        require(differ(joined, value_norm.sum(2), 0.05), "the norm of the sum is the sum of the norms")
        shares = value_norm / value_norm.sum(-1, keepdim=True)
        require(differ(shares, rows.double(), 0.05), "value norms are all alike")
        masses = maps.masses(rows, self.begins, self.patches, self.answer_begin)
        assert torch.allclose(masses.sum(-1), torch.ones((), dtype=torch.float64), atol=1e-5)
        spread = masses[0, ..., 0].std(2).mean().item()
        require(spread > 0.02, f"every head spends the same on the picture: {spread:.3f}")
        return {
            "rows.masses": masses, "rows.entropy": maps.entropy(rows), "rows.entropy.heads": maps.entropy(rows.mean(2)),
            "rows.entropy.all": maps.entropy(rows.mean((1, 2))), "rows.value_norm": value_norm,
            "rows.value_norm.joined": joined, "value_norms": norms,
        }  # fmt: skip

    def vision(self):
        attentions, config = self.tower.attentions, self.model.vision.config
        evenness = contrast(attentions, torch.full((self.patches,), self.patches))
        require(evenness < 0.85, f"the tower's attention is nearly even: {evenness:.2f}")
        norms, joined = [], []
        for layer, inputs in enumerate(self.tower.inputs):
            carried = [maps.carried_by_vision(self.weights, config, layer, picture) for picture in inputs]
            bias = self.weights[f"vision.encoder.layers.{layer}.self_attn.out_proj.bias"]
            for picture, vectors in enumerate(carried):
                moved = maps.summed(attentions[picture, layer], vectors) + bias
                agree(moved, self.tower.mixed[layer][picture].double(), "what the tower's attention moves")
            norms.append(torch.stack([vectors.norm(dim=-1) for vectors in carried]))
            sums = [maps.joined_norm(attentions[picture, layer], vectors) for picture, vectors in enumerate(carried)]
            joined.append(torch.stack(sums))
        value_norm = attentions * torch.stack(norms, 1).unsqueeze(-2)
        joined = torch.stack(joined, 1)
        require(differ(joined, value_norm.sum(2), 0.05), "in the tower, the norm of the sum is the sum of the norms")
        rollout = torch.stack([maps.rollout(picture) for picture in attentions])
        require(differ(rollout, attentions.mean((1, 2)).double(), 0.1), "rollout is the mean of all attention")
        last = torch.stack([maps.rollout(picture[-1:]) for picture in attentions])
        require(differ(rollout, last, 0.1), "rollout is the last layer's attention")
        require((rollout * self.patches).std() > 0.3, "rollout is nearly even")
        backwards = torch.stack([maps.rollout(picture.flip(0)) for picture in attentions])
        require(differ(backwards, rollout, 0.01), "the order of the layers does not show in the rollout")
        outer = self.tower.layers[-1].norm(dim=-1)
        high = (outer > 1.5 * outer.median()).sum(-1)
        require(high.min() >= 1 and high.max() <= self.patches // 3, f"{high.tolist()} outliers")
        return {
            "vision.attentions": attentions, "vision.entropy": maps.entropy(attentions), "vision.value_norm": value_norm,
            "vision.value_norm.joined": joined, "vision.rollout": rollout, "vision.norms": outer,
        }  # fmt: skip

    # ------------------------------------------------------------------------------------------------ the language model

    def relevance(self):
        positions = torch.tensor([self.spoken[0], self.spoken[-2]])
        found = []
        for position in positions.tolist():
            row = position - 1
            gradients, moved = insight_model.gradients(self.model, self.embeds, position, self.ids[0, position])
            for layer, carried in enumerate(self.carried):  # dy/dA[h,i,j] is dy/d(what attention did at i) along what it carries
                expected = torch.einsum("hjc,ic->hij", carried, moved[layer].double()).tril()
                agree(gradients[layer].tril(), expected, "gradient of attention", 1e-4)
            assert gradients[:, :, position:].abs().max() == 0  # what comes later has no say
            total = maps.relevance(self.seen.attentions, gradients)
            found.append(total[row])
            mean = self.seen.attentions[:, :, row].mean((0, 1)).double()
            likeness = torch.cosine_similarity(total[row, :row], mean[:row], 0).item()
            require(likeness < 0.98, f"relevance looks like attention: {likeness:.3f}")
            unsigned = maps.relevance(self.seen.attentions, gradients.abs())[row]
            require(differ(unsigned, total[row], 0.02), "the sign of the gradient does not show")
            wrong, _ = insight_model.gradients(self.model, self.embeds, position, (self.ids[0, position] + 1) % 256)
            require(differ(maps.relevance(self.seen.attentions, wrong)[row], total[row], 0.02), "the word does not matter")
        return {"relevance.positions": positions, "relevance": torch.stack(found)}

    def lens(self):
        layers = [len(self.carried) // 2 - 1, len(self.carried) - 1]
        log_probs = torch.stack([maps.lens(self.weights, self.config, hidden) for hidden in self.seen.layers])  # [L, T, V]
        agree(log_probs[-1].float(), self.seen.output.log_softmax(-1), "lens of the last layer")
        patches = torch.stack([log_probs[:, begin : begin + self.patches] for begin in self.begins], 1)  # [L, N, P, V]
        top = patches[layers].topk(5)
        ranks = torch.arange(5).expand(top.values.shape)
        require(len(top.indices[..., 0].unique()) >= 5, "every patch says the same")
        require((top.indices[0] != top.indices[1]).float().mean() > 0.2, "the layers say the same")
        words = torch.tensor(self.answer)
        here = log_probs[:, self.rows].transpose(0, 1)  # [A, L, V]
        spoken = here.gather(-1, words[:, None, None].expand(-1, here.shape[1], 1))
        rank = (here > spoken).sum(-1)
        require(rank[:, -1].tolist() == list(self.talk.ranks), "a control token among the likely words")
        require((rank.max(0).values > 5).any(), "the spoken words are likely in every layer")
        rank_margins = maps.gap_to_neighbours(here, rank.unsqueeze(-1))[..., 0]
        require(rank_margins.min() > 5e-4, "a rank that hangs on rounding")
        best = torch.zeros_like(rank).unsqueeze(-1)
        return {
            "lens.layers": torch.tensor(layers), "lens.words": top.indices, "lens.probabilities": top.values.exp(),
            "lens.margins": maps.gap_to_neighbours(patches[layers], ranks),
            "lens.map": patches[..., words].movedim(-1, 0).exp(), "lens.rank": rank,
            "lens.rank_margins": rank_margins, "lens.log_prob": spoken[..., 0],
            "lens.winner": here.argmax(-1), "lens.winner_margins": maps.gap_to_neighbours(here, best)[..., 0],
        }  # fmt: skip

    def sinks(self):
        layer = len(self.carried) // 2
        over = maps.over_rms(self.seen.layers[layer])
        top = over[0].topk(3)
        require(top.values[1] > 1.02 * top.values[2], "no two channels stand out at the first position")
        values = over[:, top.indices[:2]].amax(-1)
        if self.config.hidden_size > 400:  # else nothing can reach 20
            require((values - 20).abs().min() > 0.01, "a sink at the very limit")
            patches = (self.over_pictures(values) > 20).sum().item()
            require(values[0] > 20 and 1 <= patches <= self.patches // 4, f"{patches} patches are sinks, first {values[0]:.1f}")
        return {"sinks.layer": torch.tensor([layer]), "sinks.channels": top.indices[:2], "sinks.values": values}

    def answer_log_probs(self, embeds, mask=None):
        logits = self.model.language(inputs_embeds=embeds, attention_mask=mask, use_cache=False).logits
        return logits[0, self.rows].log_softmax(-1)

    def causal(self, relevance):
        picture = len(self.begins) - 1
        begin, length = self.begins[picture], self.ids.shape[1]
        relevant = relevance[0, begin : begin + self.patches].topk(max(3, self.patches // 10)).indices.sort().values
        sets = [relevant, torch.tensor([1, 2, self.patches // 2, self.patches - 1])]
        plain = self.answer_log_probs(self.embeds)
        words = torch.tensor(self.answer)
        spoken = lambda log_probs: log_probs.gather(-1, words[:, None])[:, 0]  # noqa: E731
        found = {"answer.log_probs": plain, "answer.log_prob": spoken(plain)}
        for index, patches in enumerate(sets):
            keys = begin + patches
            allowed = torch.ones(length, length).tril().bool()
            allowed[:, keys] = False
            allowed[keys, keys] = True
            mask = torch.zeros(length, length).masked_fill(~allowed, -torch.inf)[None, None]
            cut = self.answer_log_probs(self.embeds, mask)
            others = self.embeds.clone()
            others[:, keys] = others[:, keys].flip(-1)
            agree(self.answer_log_probs(others, mask), cut, "what is cut off still speaks")
            averaged = self.embeds.clone()
            averaged[:, keys] = averaged[:, begin : begin + self.patches].mean(1, keepdim=True)
            mean = self.answer_log_probs(averaged)
            for name, after in (("cut", cut), ("mean", mean)):
                change = (spoken(after) - spoken(plain)).abs().max().item()
                require(index or change > 0.02, f"{name}: the patches do not matter: {change:.3f}")
            require(index or differ(cut, mean, 1e-3), "cut and mean do the same")
            found |= {f"causal.{index}.picture": torch.tensor([picture]), f"causal.{index}.patches": patches,
                      f"causal.{index}.cut": cut, f"causal.{index}.mean": mean}  # fmt: skip
        return found

    def relative(self):
        ids, begins = insight_model.prompt_ids(self.model, self.talk.neutral)
        assert len(begins) == len(self.begins)
        neutral = insight_model.see_language(self.model, self.model.embed(ids, self.projected)).attentions[:, :, -1]
        below = torch.stack([neutral[..., begin : begin + self.patches] for begin in begins], -2)  # [L, heads, N, P]
        above = self.over_pictures(self.seen.attentions[:, :, self.rows].movedim(2, 0))  # [A, L, heads, N, P]
        require(below.min() > 1e-25, "the neutral prompt leaves a patch out altogether")
        ratio, mean = above.double() / below.double(), above.double().mean(2) / below.double().mean(1)
        require(mean.std() > 0.1 and differ(mean, ratio.mean(2), 0.01), "the question changes nothing")
        return {"relative.input_ids": ids, "relative.picture_begin": begins, "relative.row": neutral,
                "relative.heads": ratio, "relative.mean": mean}  # fmt: skip


# -------------------------------------------------------------------------------------------------------- all of it


def save_talk(folder, talk, tensors):
    whole = {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}
    assert all(tensor.isfinite().all() for tensor in whole.values())
    metadata = {"talk": json.dumps({"turns": talk.turns, "neutral": talk.neutral})}  # one entry: several come in any order
    save_file({name: tensor.contiguous() for name, tensor in whole.items()}, folder / f"{talk.name}.safetensors", metadata)


def make_case(out, case, talks, sinks, attempts=20):
    """Writes out/NAME, drawing other weights while they hide what is to be seen."""
    for _ in range(attempts):
        folder = out / case.name
        shutil.rmtree(folder, ignore_errors=True)
        try:
            pixel_values = insight_model.save_insight_folder(folder, case, sinks)
            for talk in talks:
                save_talk(folder, talk, Conversation(folder, talk, pixel_values).tensors())
            return
        except Unsuitable as reason:
            print(f"{case.name}: seed {case.seed} unsuitable ({reason})")
            case = dataclasses.replace(case, seed=case.seed + 100)
    raise SystemExit(f"{case.name}: no suitable weights in {attempts} attempts")


@torch.no_grad()
def make(out):
    """Models with something to see inside, and what is seen there."""
    for case, talks, sinks in CASES:
        make_case(out, case, talks, sinks)


if __name__ == "__main__":
    common.run(make, __file__, inputs=INPUTS)
