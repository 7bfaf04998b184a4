"""The wordings of each task. `{subject}` stands for what the question is about.

Demo models learn from TRAINED. No model has seen HELD_OUT in training: these wordings ask the same and show
how far an answer depends on the wording. Half of them use words of other tasks, as real paraphrases do;
without that, demo models answer them as well as the trained ones. All words belong to the vocabulary, so a
new word makes new models.
"""

TRAINED: dict[str, tuple[str, ...]] = {
    "colour": (
        "What colour is the {subject}?",
        "Which colour does the {subject} have?",
        "Select the colour of the {subject}.",
        "Name the colour of the {subject}.",
        "Colour of the {subject}?",
        "Please look at the picture carefully and tell me what colour the {subject} has.",
    ),
    "shape": (
        "What shape is the {subject} object?",
        "Which shape does the {subject} object have?",
        "Select the shape of the {subject} object.",
        "Name the shape of the {subject} object.",
        "Shape of the {subject} object?",
        "Please look at the picture carefully and tell me what shape the {subject} object has.",
    ),
    "count": (
        "How many {subject} are there?",
        "How many {subject} are in the picture?",
        "Count the {subject}.",
        "Select the number of {subject}.",
        "Number of {subject}?",
        "Please look at the picture carefully and tell me how many {subject} there are.",
    ),
    "position": (
        "Where is the {subject}?",
        "In which corner is the {subject}?",
        "Select the corner of the {subject}.",
        "Name the place of the {subject}.",
        "Place of the {subject}?",
        "Please look at the picture carefully and tell me where the {subject} is.",
    ),
    "exist": (
        "Which of these is in the picture?",
        "What can you see in the picture?",
        "Select the object that is in the picture.",
        "Name the object that you can see.",
        "Object in the picture?",
        "Please look at the picture carefully and tell me which of these objects you can see.",
    ),
    "exist_not": (
        "Which of these is not in the picture?",
        "What can you not see in the picture?",
        "Select the object that is not in the picture.",
        "Name the object that you can not see.",
        "Object not in the picture?",
        "Please look at the picture carefully and tell me which of these objects you can not see.",
    ),
    "presence": (
        "Is there a {subject} in the picture?",
        "Can you see a {subject}?",
        "Tell me if there is a {subject}.",
        "A {subject} in the picture?",
        "Please look at the picture carefully and tell me if there is a {subject}.",
    ),
    "more": (
        "Which picture has more {subject}?",
        "Which side has more {subject}?",
        "Select the picture that has more {subject}.",
        "Name the side with more {subject}.",
        "More {subject}?",
        "Please look at the pictures carefully and tell me which of them has more {subject}.",
    ),
    "less": (
        "Which picture has fewer {subject}?",
        "Which side has fewer {subject}?",
        "Select the picture that has less {subject}.",
        "Name the side with fewer {subject}.",
        "Fewer {subject}?",
        "Please look at the pictures carefully and tell me which of them has fewer {subject}.",
    ),
    "more_not": (
        "Which picture does not have more {subject}?",
        "Which side does not have more {subject}?",
        "Select the picture that does not have more {subject}.",
        "Name the side with not more {subject}.",
        "Not more {subject}?",
        "Please look at the pictures carefully and tell me which of them does not have more {subject}.",
    ),
    "has": (
        "Which picture has a {subject}?",
        "Which side has a {subject}?",
        "Select the picture that has a {subject}.",
        "Name the side with a {subject}.",
        "Has a {subject}?",
        "Please look at the pictures carefully and tell me which of them has a {subject}.",
    ),
    "has_not": (
        "Which picture does not have a {subject}?",
        "Which side does not have a {subject}?",
        "Select the picture that does not have a {subject}.",
        "Name the side with not a {subject}.",
        "Does not have a {subject}?",
        "Please look at the pictures carefully and tell me which of them does not have a {subject}.",
    ),
    "place_of_it": (
        "And where is it?",
        "In which corner is it?",
        "Select its corner.",
        "Name its place.",
        "Its place?",
        "Please look at the picture carefully and tell me where it is.",
    ),
    "count_like_it": (
        "And how many objects of that {subject} are there?",
        "How many objects have that {subject}?",
        "Count the objects of that {subject}.",
        "Select the number of objects of that {subject}.",
        "Number of objects of that {subject}?",
        "Please look at the picture carefully and tell me how many objects have that {subject}.",
    ),
}

HELD_OUT: dict[str, tuple[str, ...]] = {
    "colour": (
        "The {subject} in the picture is painted in which colour?",
        "Not the place and not the shape: what has the {subject} as colour?",
    ),
    "shape": (
        "Where is the {subject} object in the picture, and drawn in which shape?",
        "Carefully select what the {subject} object has as shape.",
    ),
    "count": (
        "What is the number that tells how many {subject} the picture has?",
        "Where do you see {subject}? Look and count.",
    ),
    "position": (
        "The {subject} in the picture is at which place?",
        "Not the colour and not the shape: tell what corner has the {subject}.",
    ),
    "exist": (
        "The picture has which of these?",
        "Look and name what is there, not what is not there.",
    ),
    "exist_not": (
        "The picture has not which of these?",
        "Look and name what is not there, not what is there.",
    ),
    "presence": (
        "The picture has a {subject} in it?",
        "Look and tell if you see a {subject}.",
    ),
    "more": (
        "There are more {subject} in which picture?",
        "Look and tell on which side you see more {subject}.",
    ),
    "less": (
        "There are fewer {subject} in which picture?",
        "Look and tell on which side you see fewer {subject}.",
    ),
    "more_not": (
        "There are not more {subject} in which picture?",
        "Look and tell on which side you do not see more {subject}.",
    ),
    "has": (
        "There is a {subject} in which picture?",
        "Look and tell on which side you see a {subject}.",
    ),
    "has_not": (
        "There is not a {subject} in which picture?",
        "Look and tell on which side you do not see a {subject}.",
    ),
    "place_of_it": (
        "At which place can you see it?",
        "Look and tell what corner it has.",
    ),
    "count_like_it": (
        "What is the number of objects in the picture that have that {subject}?",
        "Look at that {subject} and count the objects.",
    ),
}
