"""LaTeX of pages as MathML."""

from mathematics import on_page_content


def test_latex_becomes_mathml():
    inline = r'a <span class="arithmatex">\(x_1 &lt; 2\)</span> b'
    found = on_page_content(inline)
    assert found.startswith('a <span class="math"><math')
    assert "<msub><mi>x</mi><mn>1</mn></msub>" in found
    assert "\\" not in found
    block = '<div class="arithmatex">\\[\n\\bar h^\\top\n\\]</div>'
    assert 'display="block"' in on_page_content(block)
    assert on_page_content("plain") == "plain"
