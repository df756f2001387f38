"""Where the small models differ from the paper, and why: one text an experiment, written after looking at it."""

from __future__ import annotations

DIFFERS = {
    "table_1": (
        "DSpark is ahead of DFlash in every domain, and by about as much as in the paper. The order of the "
        "domains is another: sums come last, because their digits have to be computed and cannot be guessed from "
        "the words in front. The autoregressive drafter is not behind: one more layer behind a target of eight "
        "learns these short texts well, and what loses is its cost, see `dspark-mini race`. Without its head "
        "DSpark falls below DFlash and not only back to it, since its base logits learned to leave to the head "
        "what the neighbour decides. With three seeds the interval of the gain is wide; in code DFlash is ahead "
        "with one of them."
    ),
    "figure_2": (
        "DSpark starts high and stays, in code and small talk; DFlash sags from the second position on and does "
        "not come back to where it began. In sums both start low, at a digit or at one of two phrasings. The last "
        "positions rise a little for all, because only blocks that were right so far reach them. The "
        "autoregressive drafter starts as high as the others here."
    ),
    "figure_3": (
        "These drafters had three tenths of the steps of the others, so all values are lower. Two layers of "
        "DSpark are ahead of four of DFlash on average, by small talk; in code they are not. One layer of DSpark "
        "is behind one of DFlash in code and small talk: with so few steps its head is not trained out."
    ),
    "figure_4": (
        "The gain over DFlash grows with the block, as in the paper. τ hardly grows beyond 8, since these "
        "drafters had three tenths of the steps. The head takes a larger share than in the paper, because the "
        "target is a thousandth of the size, and each of the head's steps costs several calls of NumPy however "
        "little there is to compute. The draft's forward is that of a block of 16 at every length, so the head's "
        "share of short blocks is understated."
    ),
    "figure_5": (
        "Acceptance rises with the threshold in all domains, as in the paper: from 44 to 89 % in sums, from 84 to "
        "97 % in code, from 71 to 99 % in small talk. Small talk is not the lowest here, sums are."
    ),
    "figure_6": (
        "At temperature 1 the confidence is nearly honest as it comes, so there is little to mend. The shift is "
        "greedy verification: the head learned how far two distributions overlap, and now meets whether two best "
        "tokens agree. There the temperatures take about a third of the error away, not as much as in the paper, "
        "and AUC stays where it was, since the order within a position is kept."
    ),
    "figure_7_8": (
        "The verify budget falls as in the paper, but less: from 6.3 drafts a request to 4.7 with all domains, "
        "from 5.5 to 3.5 with sums alone. A row more costs little on this processor, up to 64 requests, and most "
        "drafts are accepted. So of the fixed lengths 7 is best with all domains; with sums alone it is 7 for few "
        "requests and 5 for 64. From 8 requests on the scheduler is level with the better of fixed 1 and fixed 7 "
        "or ahead, by 0 to 4 % with all domains and by 16 % with 64 requests of sums; most intervals reach down "
        "to 1. With one to four requests it is up to 3 % behind, since deciding takes time and little can be "
        "saved."
    ),
}
