"""The picture of the forward and the backward loop."""

from xml.etree import ElementTree

from loops import on_page_markdown


def test_the_picture_is_an_image_with_a_text():
    page = on_page_markdown("{{ loops }}")
    (svg,) = ElementTree.fromstring(page)
    assert svg.attrib["role"] == "img"
    assert "one product" in svg.attrib["aria-label"]
    texts = [node.text for node in svg.iter("text")]
    assert texts.count("run step 1") == texts.count("replay step 1") == 1
    kept = ["".join(x.itertext()) for x in svg.iter("text") if x.text == "h"]
    assert [x.replace("\N{ZERO WIDTH SPACE}", "") for x in kept] == [
        *("h1, y1", "h2, y2", "hT, yT")
    ]
    bounds = [float(x) for x in svg.attrib["viewBox"].split()]
    for node in svg.iter("rect"):
        right = float(node.attrib["x"]) + float(node.attrib["width"])
        assert right <= bounds[2]
