"""Joint trees of known tools and databases: names and parents of the skeletons that files are full of.

A tree is written as a chain of names; a bracket holds a chain that branches off the name before it; `~`
stands for a space. Orders that do not go limb by limb are lists of `name:parent`. The text of all trees is
the dictionary of compressed clips (`clip_header.py`): put new ones first and change none.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple


class JointTree(NamedTuple):
    """A tree of joints.

    Args:
        names: of the joints, parents before children.
        parents: index of each joint's parent, -1 for the root.
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]


@cache
def joint_trees() -> dict[str, JointTree]:
    """Trees by the name of the tool or database; the most frequent is the last.

    >>> joint_trees()["smpl"].names[:3]
    ('Pelvis', 'L_Hip', 'R_Hip')
    """
    return {tool: (_listed if ":-1" in tree else _unfolded)(tree) for tool, tree in _TREES.items()}


_FINGERS = ("Thumb", "Index", "Middle", "Ring", "Pinky")


def _hand(side: str, last: int) -> str:
    fingers = (" ".join(f"{side}Hand{finger}{i}" for i in range(1, last + 1)) for finger in _FINGERS)
    return f"{side}Hand " + " ".join(f"({finger})" for finger in fingers)


def _human(prefix: str, last: int, ends: bool) -> str:
    """The tree of Mixamo, MotionBuilder and their like, with fingers of `last` joints."""
    tree = f"""Hips (Spine Spine1 Spine2 (Neck Head{" HeadTop_End" * ends})
    (LeftShoulder LeftArm LeftForeArm {_hand("Left", last)})
    RightShoulder RightArm RightForeArm {_hand("Right", last)})
    (LeftUpLeg LeftLeg LeftFoot LeftToeBase{" LeftToe_End" * ends})
    (RightUpLeg RightLeg RightFoot RightToeBase{" RightToe_End" * ends})"""
    words = tree.replace("(", " ( ").replace(")", " ) ").split()
    return " ".join(word if word in "()" else prefix + word for word in words)


_TREES = {
    "smpl": """
Pelvis:-1 L_Hip:0 R_Hip:0 Spine1:0 L_Knee:1 R_Knee:2 Spine2:3 L_Ankle:4 R_Ankle:5 Spine3:6 L_Foot:7 R_Foot:8
Neck:9 L_Collar:9 R_Collar:9 Head:12 L_Shoulder:13 R_Shoulder:14 L_Elbow:16 R_Elbow:17 L_Wrist:18 R_Wrist:19
L_Hand:20 R_Hand:21
""",
    "smpl words": """
pelvis:-1 left_hip:0 right_hip:0 spine1:0 left_knee:1 right_knee:2 spine2:3 left_ankle:4 right_ankle:5
spine3:6 left_foot:7 right_foot:8 neck:9 left_collar:9 right_collar:9 head:12 left_shoulder:13
right_shoulder:14 left_elbow:16 right_elbow:17 left_wrist:18 right_wrist:19
""",
    "hand": """
WRIST (THUMB_CMC_FE THUMB_CMC_AA THUMB_MCP_FE THUMB_IP_FE) (INDEX_MCP INDEX_PIP_FE INDEX_DIP_FE)
(MIDDLE_MCP MIDDLE_PIP_FE MIDDLE_DIP_FE) (RING_MCP RING_PIP_FE RING_DIP_FE)
(PINKY_MCP PINKY_PIP_FE PINKY_DIP_FE)
""",
    "3ds max biped": """
Bip01 Bip01~Pelvis Bip01~Spine (Bip01~Spine1 Bip01~Spine2 Bip01~Neck (Bip01~Head)
(Bip01~L~Clavicle Bip01~L~UpperArm Bip01~L~Forearm Bip01~L~Hand)
Bip01~R~Clavicle Bip01~R~UpperArm Bip01~R~Forearm Bip01~R~Hand)
(Bip01~L~Thigh Bip01~L~Calf Bip01~L~Foot Bip01~L~Toe0) (Bip01~R~Thigh Bip01~R~Calf Bip01~R~Foot Bip01~R~Toe0)
""",
    "unreal": """
pelvis (spine_01 spine_02 spine_03
(clavicle_l upperarm_l lowerarm_l hand_l (index_01_l index_02_l index_03_l)
(middle_01_l middle_02_l middle_03_l)
(pinky_01_l pinky_02_l pinky_03_l) (ring_01_l ring_02_l ring_03_l) thumb_01_l thumb_02_l thumb_03_l)
(clavicle_r upperarm_r lowerarm_r hand_r (index_01_r index_02_r index_03_r)
(middle_01_r middle_02_r middle_03_r)
(pinky_01_r pinky_02_r pinky_03_r) (ring_01_r ring_02_r ring_03_r) thumb_01_r thumb_02_r thumb_03_r)
neck_01 head) (thigh_l calf_l foot_l ball_l) (thigh_r calf_r foot_r ball_r)
""",
    "poser": """
hip (abdomen chest (neck head (leftEye) rightEye)
(rCollar rShldr rForeArm rHand (rThumb1 rThumb2) (rIndex1 rIndex2) (rMid1 rMid2) (rRing1 rRing2)
rPinky1 rPinky2)
(lCollar lShldr lForeArm lHand (lThumb1 lThumb2) (lIndex1 lIndex2) (lMid1 lMid2) (lRing1 lRing2)
lPinky1 lPinky2))
(rButtock rThigh rShin rFoot) (lButtock lThigh lShin lFoot)
""",
    "xsens": """
Hips (Chest Chest2 Chest3 Chest4 (Neck Head)
(RightCollar RightShoulder RightElbow RightWrist) (LeftCollar LeftShoulder LeftElbow LeftWrist))
(RightHip RightKnee RightAnkle RightToe) (LeftHip LeftKnee LeftAnkle LeftToe)
""",
    "biovision": """
Hips (LeftHip LeftKnee LeftAnkle LeftToe) (RightHip RightKnee RightAnkle RightToe)
Chest (LeftCollar LeftShoulder LeftElbow LeftWrist) (RightCollar RightShoulder RightElbow RightWrist)
Neck Head
""",
    "unity": """
Hips (Spine Chest (Neck Head)
(Shoulder_L UpperArm_L LowerArm_L Hand_L) (Shoulder_R UpperArm_R LowerArm_R Hand_R))
(UpperLeg_L LowerLeg_L Foot_L Toes_L) (UpperLeg_R LowerLeg_R Foot_R Toes_R)
""",
    "acclaim": """
root (lhipjoint lfemur ltibia lfoot ltoes) (rhipjoint rfemur rtibia rfoot rtoes)
lowerback upperback thorax (lowerneck upperneck head)
(lclavicle lhumerus lradius lwrist (lhand lfingers) lthumb)
(rclavicle rhumerus rradius rwrist (rhand rfingers) rthumb)
""",
    "lafan": """
Hips (LeftUpLeg LeftLeg LeftFoot LeftToe) (RightUpLeg RightLeg RightFoot RightToe)
Spine Spine1 Spine2 (Neck Head)
(LeftShoulder LeftArm LeftForeArm LeftHand) (RightShoulder RightArm RightForeArm RightHand)
""",
    "mixamo": _human("mixamorig:", 4, ends=True),
    "motionbuilder": _human("", 4, ends=True),
    "motionbuilder hands": _human("", 3, ends=False),
    "sample": """
Hips (LeftUpLeg LeftLeg LeftFoot LeftToeBase) (RightUpLeg RightLeg RightFoot RightToeBase)
LowerBack Spine Spine1 (Neck Head)
(LeftShoulder LeftArm LeftForeArm LeftHand (LeftHandIndex1) LeftThumb)
(RightShoulder RightArm RightForeArm RightHand (RightHandIndex1) RightThumb)
""",
    "cmu": """
Hips (LHipJoint LeftUpLeg LeftLeg LeftFoot LeftToeBase) (RHipJoint RightUpLeg RightLeg RightFoot RightToeBase)
LowerBack Spine Spine1 (Neck Neck1 Head)
(LeftShoulder LeftArm LeftForeArm LeftHand (LeftFingerBase LeftHandIndex1) LThumb)
(RightShoulder RightArm RightForeArm RightHand (RightFingerBase RightHandIndex1) RThumb)
""",
}


def _unfolded(tree: str) -> JointTree:
    names: list[str] = []
    parents: list[int] = []
    above, branches = -1, []
    for word in tree.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(":
            branches.append(above)
        elif word == ")":
            above = branches.pop()
        else:
            parents.append(above)
            above = len(names)
            names.append(word.replace("~", " "))
    return JointTree(tuple(names), tuple(parents))


def _listed(tree: str) -> JointTree:
    pairs = [word.split(":") for word in tree.split()]
    return JointTree(tuple(name for name, _ in pairs), tuple(int(parent) for _, parent in pairs))
