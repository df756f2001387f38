"""How a DFlash drafter reads its target: features of several layers, fused, and injected as keys and values."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from dspark_mini.contracts import integer, integers, takes
from dspark_mini.viz.colors import BLUE, GREEN, INK, ORANGE, SMALL, solid
from dspark_mini.viz.draw import arrow, box, write
from dspark_mini.viz.labels import _, subscript
from dspark_mini.viz.style import Picture, canvas

SIDE, HALF = 0.74, 0.37  # of a token's box
FIRST_LAYER, STEP = 0.95, 0.33  # height of the target's lowest layer, and from layer to layer
GAP = 1.0  # between the context's columns and the block's


@takes(
    anchor_position=integer(low=1, high=8),
    block_size=integer(low=1, high=5),
    layers=integer(low=1, high=12),
    feature_layers=integers("m", below="layers"),
)
def kv_injection(
    anchor_position: int = 5, block_size: int = 3, layers: int = 8, feature_layers: Sequence[int] = (1, 4, 6)
) -> Picture:
    """Draw what the rows of a block read: the target's fused features before the anchor, and the block itself.

    Args:
        anchor_position: Position of the anchor in the text, from 1 to 8; as many positions have features.
        block_size: γ, number of masks after the anchor, from 1 to 5.
        layers: Layers of the target, at most 12.
        feature_layers: Those whose hidden states the drafter reads, counted from 0.

    Returns:
        The picture: tokens below, then the target's layers, the keys and values of a draft layer, and its queries.
    """
    context = [float(x) for x in range(anchor_position)]
    block = [anchor_position + GAP + k for k in range(block_size + 1)]
    fused = FIRST_LAYER + STEP * (layers - 1) + 0.85
    figure, ax = canvas(min(0.56, 8.8 / (block[-1] + 3.4)), -2.8, block[-1] + 0.6, -0.6, fused + 3.9)
    _draw_tokens(ax, context, block)
    _draw_target(ax, context, layers, feature_layers, fused)
    _draw_block_side(ax, block, fused)
    _draw_draft_layer(ax, context, block, fused + 1.15)
    return figure


def _draw_tokens(ax: Axes, context: list[float], block: list[float]) -> None:
    write(ax, -0.7, 0.0, _("token at position"), size=SMALL, ha="right")
    for position, x in enumerate(context):
        box(ax, x, 0.0, SIDE, SIDE, str(position), size=SMALL)
    box(ax, block[0], 0.0, SIDE, SIDE, "x₀", fill=INK, ink="white")
    for x in block[1:]:
        box(ax, x, 0.0, SIDE, SIDE, _("mask"), line="--", size=7.5)


def _draw_target(ax: Axes, context: list[float], layers: int, feature_layers: Sequence[int], fused: float) -> None:
    """Draw the target's layers over the context, and an arrow from each layer that the drafter reads."""
    middle, width = (context[0] + context[-1]) / 2, context[-1] - context[0] + SIDE
    for x in context:
        arrow(ax, (x, HALF), (x, FIRST_LAYER - 0.13))
    for layer in range(layers):
        y = FIRST_LAYER + STEP * layer
        box(ax, middle, y, width, 0.24, radius=0.04, **(solid(BLUE) if layer in feature_layers else {}))
    for number, layer in enumerate(feature_layers, start=1):
        y, x = FIRST_LAYER + STEP * layer, middle - width / 2 + width * number / (len(feature_layers) + 1)
        write(ax, -0.7, y, _("target layer {layer}", layer=layer), size=SMALL, color=BLUE, ha="right")
        arrow(ax, (x, y + 0.12), (x, fused - 0.26), color=BLUE)
    write(ax, -0.7, fused, _("H = fused features"), size=SMALL, color=BLUE, ha="right")
    names = "; ".join(subscript("h", layer) for layer in feature_layers)
    box(ax, middle, fused, width, 0.52, f"RMSNorm(W [{names}])" if len(context) > 3 else "H", size=SMALL, **solid(BLUE))


def _draw_block_side(ax: Axes, block: list[float], fused: float) -> None:
    """Draw the block's way past the target, which has not read these tokens."""
    middle = (FIRST_LAYER + fused) / 2
    for x in block:
        ax.plot([x, x], [HALF, middle - 0.55], color=INK, linewidth=1.3, zorder=2)
        arrow(ax, (x, middle + 0.55), (x, fused + 1.15 - 0.3))
    text = _("no features here: the\ntarget has not read\nthe anchor yet")
    write(ax, (block[0] + block[-1]) / 2, middle, text, size=SMALL)


def _draw_draft_layer(ax: Axes, context: list[float], block: list[float], y: float) -> None:
    """Draw the keys and values that one row of the block reads, the queries, and what the masks predict."""
    reader = block[1]
    write(ax, -0.7, y, _("keys and values"), size=SMALL, ha="right")
    for x in context:
        arrow(ax, (x, y - 0.89), (x, y - 0.3), color=BLUE)
    for xs, color in ((context, BLUE), (block, GREEN)):
        for x in xs:
            box(ax, x, y, SIDE, 0.56, "K, V", size=7.5, **solid(color))
            arrow(ax, (x, y + 0.28), (reader, y + 1.0 - 0.28), color=ORANGE, width=0.9)
    write(ax, block[0] - HALF - 0.15, y + 1.0, _("queries of one draft layer"), size=SMALL, ha="right")
    for x in block:
        box(ax, x, y + 1.0, SIDE, 0.56, "Q", size=SMALL, **(solid(ORANGE) if x == reader else {}))
    write(ax, block[0] - HALF - 0.15, y + 2.1, _("draft, after the last layer"), size=SMALL, ha="right")
    for k, x in enumerate(block[1:], start=1):
        arrow(ax, (x, y + 1.28), (x, y + 2.1 - HALF))
        box(ax, x, y + 2.1, SIDE, SIDE, subscript("x", k), **solid(GREEN))
