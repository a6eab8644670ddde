"""What can be set by hand about a plan: context, its memory, and where the experts lie.

"Automatic" everywhere unless the person touches it; every change goes out at once, and the bars follow.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QFormLayout, QHBoxLayout, QLabel, QSlider, QWidget

from clover_gui.i18n import _, number
from clover_gui.model_file.summary import ModelFile
from clover_gui.planning.plan import FitPlan, KvType

CONTEXTS = (4096, 8192, 16384, 32768, 65536, 131072, 262144)
SETTLE_MS = 80


@dataclass(frozen=True, slots=True)
class PlanWishes:
    """What was set by hand on the page; None: choose for me."""

    context: int | None = None
    kv_type: KvType | None = None
    cpu_expert_layers: int | None = None


class PlanControls(QWidget):
    """``changed`` comes shortly after the last change, with nothing but what the person set."""

    changed = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.context, self.kv_type = QComboBox(), QComboBox()
        self.experts = QSlider(Qt.Orientation.Horizontal)
        self.experts_automatic = QCheckBox()
        self.experts_automatic.setChecked(True)
        self.experts_value = QLabel()
        self._labels = tuple(QLabel() for _index in range(3))
        self._expert_row = QWidget()
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(SETTLE_MS)
        self._settle.timeout.connect(lambda: self.changed.emit(self.wishes))
        row = QHBoxLayout(self._expert_row)
        row.setContentsMargins(0, 0, 0, 0)
        for widget, stretch in ((self.experts_automatic, 0), (self.experts, 1), (self.experts_value, 0)):
            row.addWidget(widget, stretch)
        form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        for label, field in zip(self._labels, (self.context, self.kv_type, self._expert_row), strict=True):
            label.setObjectName("rowCaption")
            form.addRow(label, field)
        self.context.activated.connect(self._settle.start)
        self.kv_type.activated.connect(self._settle.start)
        self.experts.valueChanged.connect(self._moved)
        self.experts_automatic.toggled.connect(self._automatic)
        self._layer_count = 0
        self.retranslate()

    @property
    def wishes(self) -> PlanWishes:
        """What is set by hand now."""
        by_hand = self._expert_row.isVisibleTo(self) and not self.experts_automatic.isChecked()
        return PlanWishes(
            self.context.currentData() or None,
            self.kv_type.currentData() or None,
            self.experts.value() if by_hand else None,
        )

    def show_model(self, model: ModelFile, plan: FitPlan | None) -> None:
        """Offer what this model can do; ``plan`` is what "Automatic" means at present."""
        limit = model.trained_context or CONTEXTS[-1]
        choices = [n for n in CONTEXTS if n < limit] + [limit]
        current = self.context.currentData()
        self.context.clear()
        automatic = _("Automatic")
        if plan is not None and not current:
            automatic = _("Automatic ({value})").format(value=number(plan.context))
        self.context.addItem(automatic, 0)
        for count in choices:
            self.context.addItem(_("{count} tokens").format(count=number(count)), count)
        self.context.setCurrentIndex(max(0, self.context.findData(current)))
        on_gpu = plan is not None and any(not share.unified for share in plan.devices)
        movable = model.is_moe and (on_gpu or not self.experts_automatic.isChecked())
        self._expert_row.setVisible(movable)
        self._labels[2].setVisible(movable)
        self._layer_count = model.layer_count
        self.experts.blockSignals(True)
        self.experts.setRange(0, model.layer_count)
        if plan is not None and self.experts_automatic.isChecked():
            self.experts.setValue(plan.cpu_expert_layers)
        self.experts.blockSignals(False)
        self._show_experts()

    def reset(self) -> None:
        """Everything back to automatic, for another model."""
        self.context.setCurrentIndex(0)
        self.kv_type.setCurrentIndex(0)
        self.experts_automatic.blockSignals(True)
        self.experts_automatic.setChecked(True)
        self.experts_automatic.blockSignals(False)

    def retranslate(self) -> None:
        """Write all texts again in the language in force."""
        names = (_("Context"), _("Context memory"), _("Experts in RAM"))
        for label, name, field in zip(
            self._labels, names, (self.context, self.kv_type, self.experts), strict=True
        ):
            label.setText(name)
            field.setAccessibleName(name)
        self.experts_automatic.setText(_("Automatic"))
        self.experts_automatic.setAccessibleName(_("Experts in RAM: automatic"))
        self.experts.setToolTip(
            _("Layers whose experts stay in RAM: more of them need less graphics memory and write slower.")
        )
        kept = self.kv_type.currentIndex()
        self.kv_type.clear()
        for text, value in (
            (_("Automatic"), None),
            (_("Full precision (F16)"), KvType.F16),
            (_("Half the memory (Q8_0)"), KvType.Q8_0),
            (_("A quarter of the memory (Q4_0)"), KvType.Q4_0),
        ):
            self.kv_type.addItem(text, value)
        self.kv_type.setCurrentIndex(max(0, kept))

    def _moved(self) -> None:
        self.experts_automatic.blockSignals(True)
        self.experts_automatic.setChecked(False)
        self.experts_automatic.blockSignals(False)
        self._show_experts()
        self._settle.start()

    def _automatic(self, _on: bool) -> None:
        self._settle.start()

    def _show_experts(self) -> None:
        self.experts_value.setText(
            _("{count} of {total} layers").format(
                count=number(self.experts.value()), total=number(self._layer_count)
            )
        )
